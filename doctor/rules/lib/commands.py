"""Remedies with exact commands for this machine's system. Where the system is unknown a step has text and no command: a
wrong command is worse than none.

Package names are those of the distributions and of NVIDIA's and AMD's own repositories
(docs.nvidia.com/datacenter/tesla/driver-installation-guide and
rocm.docs.amd.com/projects/install-on-linux, as of 2026-09).
"""

from __future__ import annotations

from typing import Literal

from doctor.facts import Snapshot
from doctor.findings import Remedy, Scope, Step
from doctor.rules.lib import nvidia_packages, presence, repositories
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.command_effects import undo_of
from doctor.rules.lib.nvidia_packages import GUIDE
from doctor.rules.lib.packages import host_family, install, kernel_headers
from doctor.versions import Dotted

NVIDIA_BRANCH = "580"
"""Long-term branch, the last one for Maxwell to Volta (docs.nvidia.com/datacenter/tesla/drivers, 2026-09)."""
NVIDIA_BRANCH_NEWEST = "595"
"""Newest production branch, for what 580 is too old for."""


def in_container(machine: Snapshot) -> bool:
    return machine.container.inside is True


def in_wsl(machine: Snapshot) -> bool:
    return machine.host.wsl is True or "microsoft" in (machine.kernel.release or "").lower()


JOBS_STOP = "stops every GPU job on the node"
_WITH_REBOOT = {"root": True, "reboot": True, "risk": JOBS_STOP}
REBOOT = Step(text="Reboot.", command=("systemctl", "reboot"))


def reboot(text: str = "Reboot.") -> Step:
    return Step(text=text, command=REBOOT.command)


def load_module(name: str, title: str | None = None) -> Remedy:
    """`modprobe NAME` on the host."""
    load = step(f"Load {name}; if that fails, `dmesg` shows why.", "modprobe", name)
    vendor = "amd" if name == "amdgpu" else "nvidia" if name.startswith("nvidia") else None
    return way(title or f"Load the kernel module {name}.", Scope.DRIVER, load, root=True, vendor=vendor)


def nvidia_branch(at_least: str | None = None) -> str:
    """The driver branch to recommend: 580, or a newer one where that is too old."""
    if at_least is None or Dotted(at_least).series(1) == NVIDIA_BRANCH or Dotted(at_least) < NVIDIA_BRANCH:
        return NVIDIA_BRANCH
    return str(max(int(NVIDIA_BRANCH_NEWEST), Dotted(at_least).major or 0))


def nvidia_driver(
    machine: Snapshot,
    flavour: Literal["open", "proprietary"] | None = "open",
    at_least: str | None = None,
    branch: str | None = None,
) -> tuple[Remedy, ...]:
    """Install or upgrade NVIDIA's driver in a flavour, then reboot. Flavour None: the catalogue does not know the GPU,
    which may be older than every current branch or newer than this doctor, so that no package can be named. `branch`:
    the only one that drives the GPU."""
    if flavour is None:
        find = "Find the branch that supports this GPU (doctor does not know it): https://www.nvidia.com/drivers"
        steps = (Step(text=find), Step(text="Install that branch on the host."), REBOOT)
        return (_driver("Install the NVIDIA driver branch that supports this GPU.", steps, machine, None),)
    if in_wsl(machine):
        return (_on_windows(),)
    wanted = nvidia_packages.Wanted(branch or nvidia_branch(at_least), flavour, at_least)
    verb = "Upgrade" if machine.nvidia_driver.version and at_least else "Install"
    what = f"{at_least} or newer" if at_least else f"branch {wanted.branch}"
    if in_container(machine):
        title = f"{verb} the NVIDIA driver on the host of this container ({what})."
        text = f"On the host, install branch {wanted.branch} with its {flavour} kernel modules: {GUIDE}"
        return (_driver(title, (Step(text=text), REBOOT), machine, None),)
    unseen = flavour == "open" and not presence.present(machine, "nvidia")
    title = f"{verb} the NVIDIA driver ({what}, {flavour} kernel modules{_FROM_TURING * unseen})."
    if other := nvidia_packages.lacking(machine, wanted):
        title = f"{title[:-1]} from NVIDIA's repository; {other}."
    installs = tuple(nvidia_packages.steps(machine, wanted))
    if not installs:
        guide = Step(text=f"Follow NVIDIA's guide for branch {wanted.branch}: {GUIDE}")
        return (_driver(title, (guide, REBOOT), machine, None),)
    same = Dotted(machine.nvidia_driver.version or "").series(1) == wanted.branch
    held = (f"driver branch {wanted.branch}",) if same else ()
    return (_driver(title, (*installs, REBOOT), machine, machine.os.name or machine.os.id, held),)


_FROM_TURING = ", for Turing and newer GPUs"


def _on_windows() -> Remedy:
    return way(
        "Update the NVIDIA driver on Windows; WSL uses it too. Do not install one inside WSL.",
        Scope.DRIVER,
        step("On Windows, install the current driver: https://www.nvidia.com/drivers"),
        step("Restart WSL (in Windows).", "wsl.exe", "--shutdown"),
        risk="stops every WSL distribution",
        undo=(step("On Windows, install the old driver again."),),
        vendor="nvidia",
    )


def _driver(
    title: str, steps: tuple[Step, ...], machine: Snapshot, system: str | None, keeps: tuple[str, ...] = ()
) -> Remedy:
    back, remove = "Install the old branch again the same way, then reboot.", "Remove these packages, then reboot."
    undo = (Step(text=back if machine.nvidia_driver.version else remove),)
    return way(title, Scope.DRIVER, *steps, for_=system, keeps=keeps, vendor="nvidia", undo=undo, **_WITH_REBOOT)


def amdgpu_driver(machine: Snapshot) -> tuple[Remedy, ...]:
    """AMD's DKMS driver where AMD builds it; the kernel's own elsewhere."""
    manager = host_family(machine)
    row = nvidia_packages.distribution(machine)
    if (row.amd_repository if row else manager != "pacman") and (argv := install(manager, "amdgpu-dkms")):
        release, system = _amdgpu_release(machine), machine.os.name or machine.os.id
        steps = (*repositories.amdgpu(machine, release), Step(text="Install amdgpu-dkms.", command=argv), REBOOT)
        title = f"Install AMD's driver package amdgpu-dkms {release}."
        undo = (undo_of(argv, machine), reboot("Reboot into the kernel's own driver."))
        return (way(title, Scope.DRIVER, *steps, for_=system, vendor="amd", undo=undo, **_WITH_REBOOT),)
    return (amdgpu_firmware(machine, "Install the kernel's amdgpu module and the GPU's firmware"),)


def _amdgpu_release(machine: Snapshot) -> str:
    """The release that ships with the newest ROCm that is here, else the newest that ships with one."""
    from doctor.knowledge import Knowledge
    from doctor.knowledge.windows import driver_of_rocm

    kb = Knowledge()
    here = (*(one.version for one in machine.rocm or ()), machine.torch.rocm)
    newest = max((v for v in here if v), key=lambda v: Dotted(v).numbers, default=None)
    shipped = (row.version for row in kb.amdgpu_drivers() if row.ships_with_rocm)
    return driver_of_rocm(kb, newest) or max(shipped, key=lambda v: Dotted(v).numbers)


def amdgpu_firmware(machine: Snapshot, title: str = "Install the newest firmware of the GPU") -> Remedy:
    """The distribution's package of AMD's firmware, the initramfs that carries it, and a reboot."""
    manager = host_family(machine)
    package = _FIRMWARE.get(manager or "")
    row = nvidia_packages.distribution(machine)
    if machine.os.id == "ubuntu" or (
        row and ("ubuntu" in row.os or row.id in ("rhel-8", "rhel-9"))
    ):  # they do not split it
        package = "linux-firmware"
    elif manager == "dnf" and machine.os.id != "fedora" and not (row and row.id == "rhel-10"):
        package = None
    argv = install(manager, package) if package else None
    text = f"Install {package}." if argv else "Install the distribution's package of AMD's firmware (linux-firmware)."
    return way(
        f"{title}{' on the host' if in_container(machine) else ''}, then reboot.",
        Scope.DRIVER,
        *(nvidia_packages.non_free(row, "non-free-firmware") if argv else ()),
        *((Step(text="Refresh the package lists.", command=("apt-get", "update")),) if manager == "apt" else ()),
        *(Step(text=text, command=argv), initramfs(machine), REBOOT),
        **_WITH_REBOOT,
        vendor="amd",
        for_=machine.os.name or machine.os.id if argv else None,
        undo=(step("Install the old version of the package again, rebuild the initramfs, reboot."),),
    )


_FIRMWARE = {
    "apt": "firmware-amd-graphics",
    "dnf": "amd-gpu-firmware",
    "zypper": "kernel-firmware-amdgpu",
    "pacman": "linux-firmware-amdgpu",
}


def initramfs(machine: Snapshot) -> Step:
    """Rebuild the image that the kernel starts from, which carries modules, their options and firmware."""
    return Step(text="Rebuild the initramfs.", command=_INITRAMFS.get(host_family(machine) or ""))


_INITRAMFS = {
    "apt": ("update-initramfs", "-u"),
    "dnf": ("dracut", "--force"),
    "zypper": ("dracut", "--force"),
    "pacman": ("mkinitcpio", "-P"),
}


def rebuild_modules(machine: Snapshot) -> Remedy:
    headers = kernel_headers(machine)
    build = ("dkms", "autoinstall", *(("-k", str(machine.kernel.release)) if headers.command else ()))
    steps = (headers, Step(text="Build the modules.", command=build))
    return way("Build the DKMS modules for the running kernel.", Scope.DRIVER, *steps, root=True)
