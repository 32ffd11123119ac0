"""The package manager of this system, and the argv that installs packages with it."""

from __future__ import annotations

import re
from typing import Literal

from doctor.facts import Snapshot
from doctor.findings import Step

Family = Literal["apt", "dnf", "zypper", "pacman"]
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


def install(manager: Family | None, *packages: str) -> tuple[str, ...] | None:
    """argv that installs packages; None where the manager is unknown or a name could be taken for an option."""
    if manager is None or not packages or not all(re.fullmatch(r"[A-Za-z0-9@][\w.+:~@-]*", p) for p in packages):
        return None
    return (*_INSTALL[manager], *packages)


READ_SUSE = Step(
    text="Read the package lists, and trust the new repository's key.",
    command=("zypper", "--gpg-auto-import-keys", "refresh"),
)
"""Without it, `--non-interactive` refuses a repository whose key is new."""


def kernel_headers(machine: Snapshot) -> Step:
    """What DKMS builds a module with (ROCm/amdgpu-docs, install/detailed-install/prerequisites)."""
    release, manager = machine.kernel.release or "", host_family(machine)
    if not re.fullmatch(r"\d[\w.+~-]*", release) or machine.container.inside:
        return Step(text="Install the headers of the running kernel (`uname -r`).")
    kind = "uek-devel" if "uek" in release else "devel"
    names = {"apt": f"linux-headers-{release}", "dnf": f"kernel-{kind}-{release}", "zypper": "kernel-default-devel"}
    if manager == "pacman":  # linux, linux-lts, linux-zen, linux-hardened (archlinux.org/packages)
        flavour = re.search(r"-(lts|zen|hardened)\d*(?:-|$)", release)
        names["pacman"] = f"linux-{flavour[1]}-headers" if flavour else "linux-headers"
    argv = install(manager, names[manager]) if manager in names else None
    return Step(text=f"Install the headers of kernel {release[:60]}.", command=argv)
