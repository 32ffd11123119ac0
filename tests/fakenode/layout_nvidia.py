"""NVIDIA's driver: its folder in proc, its libraries, NVML's answers, nvidia-smi and modinfo."""

from __future__ import annotations

from tests.fakenode import stand_in
from tests.fakenode.machine import Command, Gpu, Machine
from tests.fakenode.tree import Tree

_BRANDS = {True: 14, False: 5}
_ARCHITECTURES = {"6": 4, "7": 6, "8": 7, "89": 8, "9": 9, "10": 10, "12": 10}
"""NVML_DEVICE_ARCH by compute capability."""
_OTHERS = ("libnvidia-ptxjitcompiler", "libnvidia-nvvm", "libcudadebugger", "libnvidia-opencl", "libnvidia-cfg")
_INIT_FAILURES = {
    18: "Failed to initialize NVML: Driver/library version mismatch",
    999: "Failed to initialize NVML: Unknown Error",
    9: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
}
NVML_FILE = "etc/nvml-stand-in"


def write(machine: Machine, tree: Tree) -> None:
    if "nvidia" in machine.modules:
        _proc(machine, tree)
    if machine.nvml:
        _libraries(machine, tree)
        tree.write(NVML_FILE, _answers(machine))
    if machine.module_on_disk:
        place = f"usr/lib/modules/{machine.kernel}/updates/dkms"
        for name in ("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm"):
            tree.write(f"{place}/{name}.ko", "")
    if not machine.wsl and not machine.container and "modinfo" not in machine.commands:
        machine.commands["modinfo"] = _modinfo(machine)
    if machine.nvml and "nvidia-smi" not in machine.commands:
        failure = _INIT_FAILURES.get(machine.nvml.init)
        folder = machine.nvml.folder if machine.wsl else "usr/bin"
        machine.commands["nvidia-smi"] = Command({"*": f"{failure}\n"} if failure else {}, code=255, folder=folder)


def _modinfo(machine: Machine) -> Command:
    answers = {}
    if machine.module_on_disk:
        answers["-F version nvidia"] = f"{machine.module_on_disk}\n"
    return Command(answers, 1, "modinfo: ERROR: Module nvidia not found.", "usr/sbin")


def _proc(machine: Machine, tree: Tree) -> None:
    kind = "Open Kernel Module" if machine.flavour == "open" else "x86_64 Kernel Module"
    built = f"for x86_64  {machine.driver}  Release Build  (build@example)"
    if machine.flavour != "open":
        built = f" {machine.driver}  Tue Sep 23 10:11:41 UTC 2025"
    tree.write("proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX {kind} {built}\nGCC version:  gcc 11.4.0\n")
    tree.write(
        "proc/driver/nvidia/params",
        "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
        'EnableMSI: 1\nPreserveVideoMemoryAllocations: 0\nRegistryDwords: ""\n',
    )
    tree.folder("proc/driver/nvidia/gpus")
    for gpu in machine.of("nvidia"):
        if gpu.driver == "nvidia":
            tree.write(f"proc/driver/nvidia/gpus/{gpu.address}/information", _information(gpu))


def _information(gpu: Gpu) -> str:
    return (
        f"Model: \t\t {gpu.board.name}\nIRQ:   \t\t 123\nGPU UUID: \t {uuid(gpu)}\nVideo BIOS: \t 96.00.74.00.1a\n"
        f"Bus Type: \t PCIe\nBus Location: \t {gpu.address}\nDevice Minor: \t {gpu.number}\nGPU Excluded:\t No\n"
    )


def uuid(gpu: Gpu) -> str:
    return f"GPU-12345678-aaaa-bbbb-cccc-{gpu.number:012x}"


def _libraries(machine: Machine, tree: Tree) -> None:
    assert machine.nvml is not None
    folder, version = machine.nvml.folder, machine.nvml.version
    names = ("libnvidia-ml", "libcuda", *(_OTHERS if not machine.wsl else ()))
    for name in names:
        content = stand_in.nvml(machine.nvml.missing) if name == "libnvidia-ml" else stand_in.empty_library(name)
        file = f"{name}.so.1" if machine.wsl else f"{name}.so.{version}"  # WSL's have no version in their names
        tree.write(f"{folder}/{file}", content, 0o755)
        if not machine.wsl:
            tree.link(f"{folder}/{name}.so.1", file)
    if machine.wsl:  # by /etc/ld.so.conf.d/ld.wsl.conf
        entries = [(f"{name}.so.1", f"/{folder}/{name}.so.1") for name in names]
        tree.write("etc/ld.so.cache", stand_in.loader_cache(*entries))


def _answers(machine: Machine) -> str:
    nvml = machine.nvml
    assert nvml is not None
    gpus = [g for g in machine.of("nvidia") if g.driver == "nvidia" or machine.wsl]
    rows = {"init": nvml.init, "driver": machine.driver, "nvml": f"13.{nvml.version}", "cuda": nvml.cuda}
    lines = [f"{key} {value}" for key, value in (rows | {"count": len(gpus)}).items()]
    for place, gpu in enumerate(gpus):
        lines += [f"{place}.{key} {value}" for key, value in (_gpu(machine, gpu) | gpu.nvml).items() if value != ""]
    return "\n".join(lines) + "\n"


def _gpu(machine: Machine, gpu: Gpu) -> dict[str, str]:
    board = gpu.board
    digits = board.arch.removeprefix("sm_")
    major, minor = digits[:-1], digits[-1]
    vendor, device = board.pci_id.split(":")
    domain, bus, rest = gpu.address.split(":")
    values: dict[str, object] = {
        "name": board.name, "uuid": uuid(gpu), "vbios": "96.00.74.00.1a", "minor": gpu.number,
        "brand": _BRANDS[board.datacenter], "architecture": _ARCHITECTURES.get(digits, _ARCHITECTURES.get(major, 9)),
        "cc_major": major, "cc_minor": minor, "pci": f"{domain}:{bus}:{rest[:2]}", "pci_id": f"0x{device}{vendor}",
        "subsystem_id": "0x16c110de", "memory": board.memory, "memory_used": 500 << 20, "bar1": board.memory,
        "power": 70_000, "power_limit": 450_000, "power_limit_default": 450_000, "temperature": 35, "busy": 0,
        "sm_clock": 345, "sm_clock_max": 1980, "graphics_clock": 345, "graphics_clock_max": 1980, "clock_reasons": 1,
        "pcie_gen": 5 if board.datacenter else 4, "pcie_gen_max": 5 if board.datacenter else 4, "pcie_width": 16,
        "pcie_width_max": 16, "compute_mode": 0, "persistence": 1, "processes": 0, "virtualization": 0,
    }  # fmt: skip
    if board.datacenter:
        values |= {
            "serial": f"165012345678{gpu.number}", "ecc": 1, "ecc_pending": 1, "corrected": 0, "uncorrected": 0,
            "corrected_lifetime": 0, "uncorrected_lifetime": 0, "rows_corrected": 0, "rows_uncorrected": 0,
            "rows_pending": 0, "rows_failed": 0, "mig": 0, "mig_pending": 0, "mig_count": 7,
        }  # fmt: skip
    if machine.nvswitches:
        switches = machine.nvswitches[1]
        values |= {"fabric_state": 3, "fabric_status": 0}
        for link in range(board.nvlinks):
            values |= {f"link{link}": 1, f"link{link}_peer": f"0000:{0xF1 + link % switches:02x}:00"}
    return {key: str(value) for key, value in values.items()}
