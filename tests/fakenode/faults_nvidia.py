"""Faults of NVIDIA machines. Each takes a `Machine` and changes it; the ones with arguments return such a function."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakenode import stand_in
from tests.fakenode.machine import NOW_S, Command, Machine

_UNINITIALISED, _LIBRARY_MISMATCH, _UNKNOWN_ERROR, _LOST = 9, 18, 999, 15
_LATE_FUNCTIONS = (
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetComputeRunningProcesses_v3",
)
"""Functions that NVML of the branches before 510 and 535 does not have."""

Fault = Callable[[Machine], None]


def driver_not_loaded(machine: Machine) -> None:
    """Installed and not loaded: no module, nothing bound, no node."""
    for name in [n for n in machine.modules if n.startswith("nvidia")]:
        del machine.modules[name]
    for gpu in machine.of("nvidia"):
        gpu.driver = None
    for path in [p for p in machine.nodes if p.startswith("nvidia")]:
        del machine.nodes[path]
    machine.processes.clear()
    if machine.nvml:
        machine.nvml.init = _UNINITIALISED


def driver_not_installed(machine: Machine) -> None:
    """Neither loaded nor on the disk, no libraries, no tools."""
    driver_not_loaded(machine)
    machine.nvml, machine.module_on_disk = None, None


def gpu_not_served(machine: Machine) -> None:
    """The module is loaded and drives no GPU here: its branch dropped them, or is older than they are."""
    for gpu in machine.of("nvidia"):
        gpu.driver = None
        del machine.nodes[f"nvidia{gpu.number}"]
    machine.processes.clear()
    if machine.nvml:
        machine.nvml.init = _UNINITIALISED


def nouveau_bound(machine: Machine) -> None:
    """The kernel's own driver took the GPUs before NVIDIA's could."""
    driver_not_loaded(machine)
    machine.modules["nouveau"] = ""
    for place, gpu in enumerate(machine.of("nvidia")):
        gpu.driver = "nouveau"
        machine.log(f"nouveau {gpu.address}: NVIDIA AD102 (192000a1)", 4 + place)


def vfio_bound(machine: Machine) -> None:
    """The first GPU is kept for a virtual machine. Where it is the only one, NVIDIA's driver is not loaded at all."""
    first = machine.of("nvidia")[0]
    if len(machine.gpus) == 1:
        driver_not_loaded(machine)
    first.driver = "vfio-pci"
    machine.modules["vfio_pci"] = ""


def secure_boot_refuses(machine: Machine) -> None:
    """Secure boot is on and the module that DKMS built is not signed with an enrolled key."""
    driver_not_loaded(machine)
    machine.files["sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"] = bytes([6, 0, 0, 0, 1])
    machine.files["sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n"
    machine.log("Loading of unsigned module is rejected", 7)
    machine.log("nvidia: module verification failed: signature and/or required key missing", 7.1)


def secure_boot_on(machine: Machine) -> None:
    """Secure boot is on, and the modules are signed: all works."""
    machine.files["sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"] = bytes([6, 0, 0, 0, 1])


def libraries_of(version: str) -> Fault:
    """The package was upgraded and the old module is still loaded."""

    def fault(machine: Machine) -> None:
        assert machine.nvml is not None
        machine.nvml.version, machine.nvml.init = version, _LIBRARY_MISMATCH
        machine.module_on_disk = version
        machine.log(f"NVRM: API mismatch: the client has the version {version}, but", 9000)
        machine.log(f"NVRM: this kernel module has the version {machine.driver}.  Please", 9000)

    return fault


def uvm_not_loaded(machine: Machine) -> None:
    machine.modules.pop("nvidia_uvm")
    for name in ("nvidia-uvm", "nvidia-uvm-tools"):
        machine.nodes.pop(name)


def uvm_node_missing(machine: Machine) -> None:
    """The module is loaded and nobody made its node."""
    for name in ("nvidia-uvm", "nvidia-uvm-tools"):
        machine.nodes.pop(name)


def no_nodes(machine: Machine) -> None:
    """A container that was started without its GPUs: no node, no library of the driver."""
    machine.nodes.clear()
    machine.nvml = None


def xid(code: int, text: str = "GPU has fallen off the bus.", at: float = NOW_S) -> Fault:
    """An Xid of the first GPU in the kernel's log, seconds after boot."""

    def fault(machine: Machine) -> None:
        address = machine.of("nvidia")[0].address.removesuffix(".0")
        machine.log(f"NVRM: Xid (PCI:{address}): {code}, pid=4242, name=python3, {text}", at)

    return fault


def gpu_lost(machine: Machine) -> None:
    """NVML answers GPU_IS_LOST for the first GPU, whatever is asked."""
    first = machine.of("nvidia")[0]
    for name in ("Name", "UUID", "MemoryInfo", "Temperature", "PowerUsage", "EccMode"):
        first.nvml[f"error.nvmlDeviceGet{name}"] = str(_LOST)


def fabric_manager_stopped(machine: Machine) -> None:
    """Installed, and not running: the NVSwitches are not set up."""
    machine.processes = {pid: p for pid, p in machine.processes.items() if p.name != "nv-fabricmanager"}
    for gpu in machine.of("nvidia"):
        gpu.nvml |= {"fabric_state": "2"}


def fabric_manager_absent(machine: Machine) -> None:
    fabric_manager_stopped(machine)
    machine.commands.pop("nv-fabricmanager")
    machine.files.pop("usr/lib/systemd/system/nvidia-fabricmanager.service")


def ecc_uncorrected(machine: Machine) -> None:
    machine.of("nvidia")[0].nvml |= {"uncorrected": "3", "uncorrected_lifetime": "3"}


def ecc_corrected(machine: Machine) -> None:
    """Corrected errors are what ECC is for."""
    machine.of("nvidia")[0].nvml |= {"corrected": "12", "corrected_lifetime": "40"}


def row_remap_failed(machine: Machine) -> None:
    machine.of("nvidia")[0].nvml |= {"rows_failed": "1", "rows_uncorrected": "8"}


def row_remap_pending(machine: Machine) -> None:
    machine.of("nvidia")[0].nvml |= {"rows_pending": "1", "rows_uncorrected": "1"}


def persistence_off(machine: Machine) -> None:
    """No persistence mode and no persistence daemon."""
    machine.processes = {pid: p for pid, p in machine.processes.items() if p.name != "nvidia-persistenced"}
    for gpu in machine.of("nvidia"):
        gpu.nvml["persistence"] = "0"


def compute_mode(number: int) -> Fault:
    """NVML's number: 2 prohibited, 3 exclusive process."""

    def fault(machine: Machine) -> None:
        for gpu in machine.of("nvidia"):
            gpu.nvml["compute_mode"] = str(number)

    return fault


def mig(instances: int) -> Fault:
    """MIG is on in the first GPU, with this many instances."""

    def fault(machine: Machine) -> None:
        first = machine.of("nvidia")[0]
        first.nvml |= {"mig": "1", "mig_pending": "1"}
        for number in range(instances):
            first.nvml |= {
                f"m{number}.uuid": f"MIG-00000000-aaaa-bbbb-cccc-{number:012x}",
                f"m{number}.name": f"{first.board.name} MIG 1g.10gb",
                f"m{number}.memory": str(10 << 30),
                f"m{number}.memory_used": "0",
                f"m{number}.gpu_instance": str(number + 7),
                f"m{number}.compute_instance": "0",
            }

    return fault


def old_nvml(machine: Machine) -> None:
    """A library without the functions that came later."""
    assert machine.nvml is not None
    machine.nvml.missing = _LATE_FUNCTIONS


def throttled(machine: Machine) -> None:
    """Hot, and slowed down by its own protection."""
    for gpu in machine.of("nvidia"):
        gpu.nvml |= {"temperature": "93", "clock_reasons": str(0x40 | 0x20), "busy": "100", "sm_clock": "600"}


def narrow_link(lanes: int) -> Fault:
    """The first GPU's link came up with fewer lanes than its slot and the GPU have."""

    def fault(machine: Machine) -> None:
        machine.gpus[0].sysfs["current_link_width"] = str(lanes)
        machine.gpus[0].nvml["pcie_width"] = str(lanes)

    return fault


def nvlink_down(machine: Machine) -> None:
    machine.of("nvidia")[0].nvml |= {"link3": "0", "link7": "0"}


def nvml_unknown_error(machine: Machine) -> None:
    """What a container says that lost its device rules."""
    assert machine.nvml is not None
    machine.nvml.init = _UNKNOWN_ERROR


def no_control_node(machine: Machine) -> None:
    """A run line that names the GPU's node alone."""
    del machine.nodes["nvidiactl"]
    nvml_unknown_error(machine)


def no_libraries(machine: Machine) -> None:
    """Nodes that were passed by hand, without what the toolkit mounts beside them."""
    machine.nvml = None


def stub_first(machine: Machine) -> None:
    """A toolkit's library for linking comes first on LD_LIBRARY_PATH."""
    folder = "opt/cuda-13.0/lib64/stubs"
    machine.files[f"{folder}/libcuda.so.1"] = stand_in.empty_library("libcuda")
    machine.environment["LD_LIBRARY_PATH"] = f"/{folder}"


def smi_hangs(machine: Machine) -> None:
    """NVML does not come up, and nvidia-smi does not come back."""
    nvml_unknown_error(machine)
    machine.commands["nvidia-smi"] = Command({}, hangs=True)


def not_initialised(machine: Machine) -> None:
    """The kernel log says so of the second GPU, and NVML can't name it."""
    second = machine.of("nvidia")[1]
    machine.log(f"NVRM: GPU {second.address}: RmInitAdapter failed! (0x62:0xffff:2477)", 40)
    for name in ("Name", "UUID", "MemoryInfo", "Temperature", "PowerUsage", "EccMode", "PciInfo_v3", "MinorNumber"):
        second.nvml[f"error.nvmlDeviceGet{name}"] = str(_UNKNOWN_ERROR)


def mig_waits(machine: Machine) -> None:
    """MIG was turned on and the GPU was not reset."""
    machine.of("nvidia")[0].nvml |= {"mig": "0", "mig_pending": "1"}


def slow_link(*, busy: bool) -> Fault:
    """The link of the first GPU is at the first generation's speed, as it is while nothing runs."""

    def fault(machine: Machine) -> None:
        first = machine.of("nvidia")[0]
        first.sysfs["current_link_speed"] = "2.5 GT/s PCIe"
        first.nvml |= {"pcie_gen": "1", "busy": "100" if busy else "0"}

    return fault


def no_libcuda(machine: Machine) -> None:
    """The driver was installed without its part for compute."""
    assert machine.nvml is not None
    machine.removed += [f"{machine.nvml.folder}/libcuda.so{end}" for end in (".1", f".{machine.nvml.version}")]


def kept_out(machine: Machine) -> None:
    """As `prime-select intel` leaves a laptop."""
    driver_not_loaded(machine)
    machine.files["usr/lib/modprobe.d/blacklist-nvidia.conf"] = "blacklist nvidia\nalias nvidia off\n"


def module_options(machine: Machine) -> None:
    """What keeps other drivers out, and keeps video memory over a suspend."""
    text = "blacklist nouveau\nblacklist nvidiafb\noptions nvidia NVreg_PreserveVideoMemoryAllocations=1\n"
    machine.files["etc/modprobe.d/nvidia.conf"] = text


def compiler_of(version: str) -> Fault:
    """A driver that was installed before left its compiler of PTX."""

    def fault(machine: Machine) -> None:
        assert machine.nvml is not None
        name, folder = "libnvidia-ptxjitcompiler", machine.nvml.folder
        machine.removed.append(f"{folder}/{name}.so.{machine.nvml.version}")
        machine.files[f"{folder}/{name}.so.{version}"] = stand_in.empty_library(name)
        machine.links[f"{folder}/{name}.so.1"] = f"{name}.so.{version}"

    return fault


def linux_driver_in_wsl(machine: Machine) -> None:
    """The distribution's package of the driver, beside what WSL brings."""
    folder = "usr/lib/x86_64-linux-gnu"
    for name in ("libcuda", "libnvidia-ml"):
        machine.files[f"{folder}/{name}.so.560.35.03"] = stand_in.empty_library(name)
        machine.links[f"{folder}/{name}.so.1"] = f"{name}.so.560.35.03"
    entries = [("libcuda.so.1", f"/{place}/libcuda.so.1") for place in (folder, "usr/lib/wsl/lib")]
    machine.files["etc/ld.so.cache"] = stand_in.loader_cache(*entries)
