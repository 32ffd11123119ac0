"""Faults of AMD machines. Each takes a `Machine` and changes it; the ones with arguments return such a function."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakenode.layout_pci import config_space, path
from tests.fakenode.machine import NOW_S, RENDER, Command, DeviceNode, Machine
from tests.parsers import binaries

Fault = Callable[[Machine], None]


def amdgpu_not_loaded(machine: Machine) -> None:
    machine.modules.pop("amdgpu")
    machine.params = {k: v for k, v in machine.params.items() if not k.startswith("amdgpu/")}
    for gpu in machine.of("amd"):
        gpu.driver = None
    for name in [n for n in machine.nodes if n == "kfd" or n.startswith("dri/")]:
        del machine.nodes[name]


def amdgpu_blacklisted(machine: Machine) -> None:
    """Kept from loading on the kernel's command line."""
    amdgpu_not_loaded(machine)
    machine.cmdline.append("modprobe.blacklist=amdgpu")


def nomodeset(machine: Machine) -> None:
    amdgpu_not_loaded(machine)
    machine.cmdline.append("nomodeset")


def kfd_missing(machine: Machine) -> None:
    """amdgpu drives the screen; its compute part did not come up."""
    machine.nodes.pop("kfd")
    machine.removed.append("sys/class/kfd")


def kfd_node_missing(machine: Machine) -> None:
    """KFD runs and /dev/kfd is not there, as in a container that was given the render nodes alone."""
    machine.nodes.pop("kfd")


def one_render_node(machine: Machine) -> None:
    """A container that was given the first GPU alone."""
    for node in sorted(n for n in machine.nodes if n.startswith("dri/renderD"))[1:]:
        del machine.nodes[node]


def no_nodes(machine: Machine) -> None:
    """A container that was started without /dev/kfd and /dev/dri."""
    machine.nodes.clear()


def account(uid: int, *groups: int) -> Fault:
    """Who runs the programs. The first group is the account's own."""

    def fault(machine: Machine) -> None:
        machine.uid, machine.gids = uid, list(groups)

    return fault


def render_group(gid: int, *, named: bool = True) -> Fault:
    """The nodes belong to this number, which may have no name here."""

    def fault(machine: Machine) -> None:
        for name, node in machine.nodes.items():
            if name == "kfd" or name.startswith("dri/"):
                machine.nodes[name] = DeviceNode(node.mode, node.uid, gid)
        name = f"render:x:{gid}:\n" if named else ""
        machine.files["etc/group"] = f"root:x:0:\nvideo:x:44:alice\n{name}alice:x:1000:\n"

    return fault


def nodes_of_root(machine: Machine) -> None:
    """udev's rule is missing: the nodes belong to root alone."""
    for name, node in machine.nodes.items():
        if node.gid == RENDER:
            machine.nodes[name] = DeviceNode(0o600, 0, 0)


def ring_timeout(machine: Machine) -> None:
    gpu = machine.of("amd")[0].address
    machine.log(f"amdgpu {gpu}: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1234, emitted seq=1236", NOW_S)
    machine.log(f"amdgpu {gpu}: amdgpu: GPU reset begin!", NOW_S + 1)
    machine.log(f"amdgpu {gpu}: amdgpu: GPU reset(2) failed", NOW_S + 3)


def ras_uncorrectable(machine: Machine) -> None:
    machine.of("amd")[0].sysfs["ras/umc_err_count"] = "ue: 2\nce: 5"


def ras_correctable(machine: Machine) -> None:
    machine.of("amd")[0].sysfs["ras/umc_err_count"] = "ue: 0\nce: 5"


def no_atomics(machine: Machine) -> None:
    """The slot routes no PCIe atomics, so KFD leaves the card out."""
    gpu = machine.of("amd")[0]
    gpu.in_kfd = False
    machine.files[f"{path(gpu)}/config"] = config_space(atomics=False)
    gpu.sysfs["config"] = None
    vendor, device = gpu.board.pci_id.split(":")
    machine.log(f"kfd kfd: amdgpu: skipped device {vendor}:{device}, PCI rejects atomics 730<0", 8)


def rocm_link_broken(machine: Machine) -> None:
    """/opt/rocm leads to a release that was removed, and ROCM_PATH names it."""
    machine.links["opt/rocm"] = "rocm-5.7.0"
    machine.environment["ROCM_PATH"] = "/opt/rocm-5.7.0"


def small_bar(machine: Machine) -> None:
    """Resizable BAR is off: the CPU sees 256 MiB of the card's memory."""
    for gpu in machine.of("amd"):
        gpu.sysfs["mem_info_vis_vram_total"] = str(256 << 20)
        window = f"0x{0x20000000000:016x} 0x{0x20000000000 + (256 << 20) - 1:016x} 0x000000000014220c"
        empty = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
        gpu.sysfs["resource"] = "\n".join([window, *[empty] * 12])


def smi_hangs(machine: Machine) -> None:
    for name in ("amd-smi", "rocm-smi"):
        machine.commands[name] = Command({}, hangs=True, folder=f"opt/rocm-{machine.rocm[-1]}/bin")


def firmware_missing(machine: Machine) -> None:
    amdgpu_not_loaded(machine)
    machine.modules["amdgpu"] = ""
    for gpu in machine.of("amd"):
        machine.log(f"amdgpu {gpu.address}: Direct firmware load for amdgpu/psp_13_0_6_sos.bin failed with error -2", 5)
        machine.log(f"amdgpu {gpu.address}: amdgpu: Fatal error during GPU init", 5.2)


def one_not_in_kfd(machine: Machine) -> None:
    """The second GPU's driver runs, and its compute part did not come up."""
    machine.of("amd")[1].in_kfd = False


def no_hsa_runtime(machine: Machine) -> None:
    """HIP's runtime needs it; the package was removed, or half installed."""
    folder = f"opt/rocm-{machine.rocm[-1]}/lib"
    hip = binaries.elf(needed=("libhsa-runtime64.so.1",), soname="libamdhip64.so.6", runpath="$ORIGIN")
    machine.files[f"{folder}/libamdhip64.so.6"] = hip
    machine.removed.append(f"{folder}/libhsa-runtime64.so.1")


def rocm_moved(machine: Machine) -> None:
    """/opt/rocm leads to a removed alternative, and ROCM_PATH names it."""
    machine.links["opt/rocm"] = "/etc/alternatives/rocm"
    machine.environment["ROCM_PATH"] = "/opt/rocm"
