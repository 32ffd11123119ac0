"""Exact commands for this machine's system, as fixes. Where the system is unknown a fix has text and no command: a
wrong command is worse than none.

Package names are those of the distributions and of NVIDIA's and AMD's own repositories
(docs.nvidia.com/datacenter/tesla/driver-installation-guide and
rocm.docs.amd.com/projects/install-on-linux, as of 2026-09).
"""

from __future__ import annotations

import re
from typing import Literal

from doctor.facts import Snapshot
from doctor.findings import Fix
from doctor.versions import Dotted

Family = Literal["apt", "dnf", "zypper", "pacman"]
NVIDIA_BRANCH = "580"
"""Long-term branch, the last one for Maxwell to Volta (docs.nvidia.com/datacenter/tesla/drivers, 2026-09)."""
NVIDIA_BRANCH_NEWEST = "595"
"""Newest production branch, for what 580 is too old for."""
_FAMILIES: tuple[tuple[Family, tuple[str, ...]], ...] = (
    ("apt", ("debian", "ubuntu", "linuxmint", "pop", "raspbian")),
    ("dnf", ("fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn", "azurelinux")),
    ("zypper", ("suse", "sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed")),
    ("pacman", ("arch", "manjaro", "endeavouros")),
)
_INSTALL: dict[Family, tuple[str, ...]] = {
    "apt": ("apt-get", "install", "--yes"),
    "dnf": ("dnf", "install", "--assumeyes"),
    "zypper": ("zypper", "--non-interactive", "install"),
    "pacman": ("pacman", "-S", "--noconfirm"),
}


def family(machine: Snapshot) -> Family | None:
    """The package manager of this system. Inside a container it is the container's, not the host's."""
    words = [machine.os.id or "", *(machine.os.id_like or "").split()]
    for word in words:
        for name, ids in _FAMILIES:
            if word.lower() in ids:
                return name
    return None


def host_family(machine: Snapshot) -> Family | None:
    """The host's package manager; None inside a container, which does not show it."""
    return None if machine.container.inside else family(machine)


def in_container(machine: Snapshot) -> bool:
    """Surely inside a container."""
    return machine.container.inside is True


def in_wsl(machine: Snapshot) -> bool:
    return machine.host.wsl is True or "microsoft" in (machine.kernel.release or "").lower()


def install(manager: Family | None, *packages: str) -> tuple[str, ...] | None:
    """argv that installs packages; None where the manager is unknown or a name could be taken for an option."""
    if manager is None or not packages or not all(re.fullmatch(r"[A-Za-z0-9@][\w.+:~@-]*", p) for p in packages):
        return None
    return (*_INSTALL[manager], *packages)


def reboot(text: str = "Reboot.") -> Fix:
    return Fix(text=text, command=("systemctl", "reboot"), root=True, reboot=True, risk="stops every job on the node")


def load_module(name: str, text: str | None = None) -> Fix:
    """`modprobe NAME` on the host."""
    return Fix(text=text or f"Load the kernel module {name}.", command=("modprobe", name), root=True)


def nvidia_branch(at_least: str | None = None) -> str:
    """The driver branch to recommend: 580, or a newer one where that is too old."""
    if at_least is None or Dotted(at_least).series(1) == NVIDIA_BRANCH or Dotted(at_least) < NVIDIA_BRANCH:
        return NVIDIA_BRANCH
    return str(max(int(NVIDIA_BRANCH_NEWEST), Dotted(at_least).major or 0))


def nvidia_driver(
    machine: Snapshot, flavour: Literal["open", "proprietary"] | None = "open", at_least: str | None = None
) -> tuple[Fix, ...]:
    """Install or update NVIDIA's driver in a flavour, then reboot. Flavour None: the catalogue does not know the GPU,
    which may be older than every current branch or newer than this doctor, so that no package can be named."""
    if flavour is None:
        text = (
            "Find at https://www.nvidia.com/drivers which driver branch supports this GPU (the doctor does not know "
            "it; those before Maxwell have no current one), install that on the host, and reboot."
        )
        return (Fix(text=text, reboot=True, risk="GPU jobs on the node must be stopped first"),)
    branch = nvidia_branch(at_least)
    wanted = f"{at_least} or newer" if at_least else f"branch {branch}"
    fix = Fix(
        text=f"Install NVIDIA's driver, {flavour} kernel modules, {wanted}"
        + ("." if host_family(machine) else ", on the host with its own package manager."),
        command=install(host_family(machine), *_nvidia_packages(machine, flavour, branch)),
        root=True,
        reboot=True,
        risk="GPU jobs on the node must be stopped first",
    )
    return (fix, reboot("Reboot, so that the new kernel modules are loaded."))


def _nvidia_packages(machine: Snapshot, flavour: str, branch: str) -> tuple[str, ...]:
    is_open = flavour == "open"
    manager = family(machine)
    if manager == "apt" and machine.os.id == "debian":
        return ("nvidia-driver", "nvidia-open-kernel-dkms" if is_open else "nvidia-kernel-dkms")
    if manager == "apt":
        return (f"nvidia-driver-{branch}{'-open' if is_open else ''}",)
    if manager == "pacman":
        return ("nvidia-open-dkms", "nvidia-utils") if is_open else ()
    return ("nvidia-open",) if is_open else ("cuda-drivers",)


def amdgpu_driver(machine: Snapshot) -> tuple[Fix, ...]:
    """AMD's DKMS driver where AMD builds it; the kernel's own elsewhere."""
    manager = host_family(machine)
    if manager in ("apt", "dnf", "zypper") and machine.os.id != "fedora" and machine.os.id != "debian":
        text = "Install AMD's driver (AMD's amdgpu repository for this release must be set up)."
        return (
            Fix(text=text, command=install(manager, "amdgpu-dkms"), root=True, reboot=True),
            reboot("Reboot, so that the new kernel module is loaded."),
        )
    return (Fix(text="Install the kernel's amdgpu module and the GPU firmware on the host, then reboot.", reboot=True),)


def rebuild_modules(machine: Snapshot) -> Fix:
    """Build all DKMS modules for the running kernel."""
    release = machine.kernel.release
    known = bool(release and re.fullmatch(r"\d[\w.+~-]*", release) and not in_container(machine))
    return Fix(
        text="Build the DKMS modules for the running kernel (its headers must be installed).",
        command=("dkms", "autoinstall", "-k", release) if known and release else None,
        root=True,
    )
