"""Steps that install a branch of NVIDIA's driver on one system, by the table of what each distribution carries.

A distribution's own package is named only where the table has the branch, and a version is promised only where it was
looked up. Else NVIDIA's repository is added first, and held on the branch by the distribution's own means
(docs.nvidia.com/datacenter/tesla/driver-installation-guide, kernel-modules and version-locking, 620 edition, 2026-11;
SUSE: sndirsch.github.io/nvidia, 2026-02; dnf-plugins-core.readthedocs.io and dnf5.readthedocs.io, 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from doctor.facts import Snapshot
from doctor.findings import Step
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import writes
from doctor.rules.lib.packages import READ_SUSE, family, host_family, install, kernel_headers
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge.nvidia import Distribution

Flavour = Literal["open", "proprietary"]
GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
_REPOSITORIES = "https://developer.download.nvidia.com/compute/cuda/repos"
_DATACENTER = Lazy(r"\b(?:Tesla|[ABHLPV]\d{2,3}[SX]?|T4|GH200|GB[23]00)\b")


@dataclass(frozen=True)
class Wanted:
    """A branch of the driver, its kernel modules, and the version that it must reach."""

    branch: str
    flavour: Flavour
    at_least: str | None = None

    @property
    def is_open(self) -> bool:
        return self.flavour == "open"


def distribution(machine: Snapshot) -> Distribution | None:
    """The row of this host's system; None where it is not listed, or hidden by a container."""
    from doctor.knowledge.distributions import distribution_of

    system = machine.os
    return distribution_of(system.id or "", system.version, system.ubuntu_codename) if host_family(machine) else None


def steps(machine: Snapshot, wanted: Wanted) -> Iterator[Step]:
    """The steps up to the reboot; none where this system is not known well enough for a command."""
    row, manager = distribution(machine), host_family(machine)
    if manager is None:
        return
    if row and (own := own_branch(machine, row, wanted)):
        name = row.package or f"nvidia-driver-{own}{'-open' if wanted.is_open else ''}"
        version = row.nvidia[own]
        dated = f" ({version} as of {row.as_of})" if version else ""
        yield from non_free(row, "contrib non-free non-free-firmware")
        yield Step(text="Refresh the package lists.", command=("apt-get", "update"))
        yield Step(text=f"Install {name}{dated}.", command=install(manager, name))
    elif manager == "pacman":
        yield from _arch(wanted)
    elif manager == "zypper":
        yield from _suse(machine, row, wanted)
    else:
        yield kernel_headers(machine)
        yield from (*dkms_source(machine, row), *_repository(machine, row))
        yield from _apt(machine, wanted) if manager == "apt" else _dnf(machine, row, wanted)


def non_free(row: Distribution | None, components: str) -> Iterator[Step]:
    """Debian keeps the vendors' packages in components that not every system has (wiki.debian.org/SourcesList)."""
    if row and row.codename and "debian" in row.os:
        held = components if row.version != "11" else "contrib non-free"
        line = f"deb https://deb.debian.org/debian {row.codename} {held}"
        yield writes("/etc/apt/sources.list.d/non-free.list", line)


def dkms_source(machine: Snapshot, row: Distribution | None) -> Iterator[Step]:
    """RHEL and its kin have no dkms of their own (docs.fedoraproject.org/en-US/epel/getting-started); SLES has it in
    Package Hub (packagehub.suse.com)."""
    if row and row.id.startswith("rhel-"):
        url = f"https://dl.fedoraproject.org/pub/epel/epel-release-latest-{row.version}.noarch.rpm"
        yield Step(text="Add EPEL, which has dkms.", command=("dnf", "install", "--assumeyes", url))
    elif row and "sles" in row.os and _RELEASE.fullmatch(machine.os.version or ""):
        module = f"PackageHub/{machine.os.version}/{machine.host.machine or 'x86_64'}"
        yield Step(text="Add Package Hub, which has dkms.", command=("SUSEConnect", "-p", module))


_RELEASE = Lazy(r"\d{1,2}\.\d{1,2}")


def own_branch(machine: Snapshot, row: Distribution, wanted: Wanted) -> str | None:
    """The distribution's own branch that serves: of its name, and not known to be older than what is asked."""
    server = any(_DATACENTER.search(g.name or "") for g in machine.of_vendor("nvidia"))
    name = row.carries(wanted.branch, server)
    if name is None or row.manager != "apt" or (row.package and wanted.is_open):
        return None
    version = row.nvidia[name]
    return None if version and wanted.at_least and Dotted(version) < wanted.at_least else name


def lacking(machine: Snapshot, wanted: Wanted) -> str | None:
    """What the system's own packages give instead, as a sentence; None where they serve or the system is not listed."""
    row = distribution(machine)
    if row is None or not row.nvidia or row.manager != "apt" or own_branch(machine, row, wanted):
        return None
    newest = max(row.nvidia, key=lambda name: Dotted(name.partition("-")[0]).numbers)
    return f"{row.os[0].capitalize()} {row.version} itself carries {row.nvidia[newest] or newest}"


def cuda_toolkit(machine: Snapshot, release: str) -> Iterator[Step]:
    """A release of CUDA's toolkit beside the others, from NVIDIA's repository; `release` may be a placeholder."""
    package, manager = f"cuda-toolkit-{release.replace('.', '-')}", family(machine)
    if manager in (None, "pacman"):
        archive = "https://developer.nvidia.com/cuda-toolkit-archive"
        alone = (
            f"Install the toolkit of CUDA {release} by NVIDIA's runfile, without the driver in it (option --toolkit)"
        )
        yield Step(text=f"{alone}: {archive}")
        return
    if not machine.container.inside:
        yield from _repository(machine, distribution(machine))
    if manager == "apt":
        yield Step(text="Refresh the package lists.", command=("apt-get", "update"))
    yield Step(text=f"Install {package} from NVIDIA's repository.", command=install(manager, package))


def _repository(machine: Snapshot, row: Distribution | None) -> Iterator[Step]:
    """NVIDIA's repository for this system."""
    folder = row.nvidia_repository if row else None
    if folder is None:
        yield Step(text=f"Add NVIDIA's repository for the system that this one is built on: {GUIDE}")
        return
    arch = "sbsa" if machine.host.machine == "aarch64" else "x86_64"
    base, skip = f"{_REPOSITORIES}/{folder}/{arch}", "skip this if it is there"
    manager = row.manager if row else None
    if manager == "apt":
        keyring = "cuda-keyring_1.1-1_all.deb"
        yield Step(
            text=f"Fetch the key of NVIDIA's repository ({skip}).",
            command=("curl", "--fail", "--location", "--output", keyring, f"{base}/{keyring}"),
        )
        yield Step(text="Add the repository.", command=("dpkg", "-i", keyring))
    elif manager == "dnf":
        url = f"{base}/cuda-{folder}.repo"
        fedora = row is not None and "fedora" in row.os
        add = ("addrepo", f"--from-repofile={url}") if fedora else ("--add-repo", url)
        yield Step(text=f"Add NVIDIA's repository ({skip}).", command=("dnf", "config-manager", *add))
    else:
        yield Step(text=f"Add NVIDIA's repository ({skip}).", command=("zypper", "addrepo", f"{base}/", "cuda"))
        yield READ_SUSE


def _package(wanted: Wanted) -> str:
    return "nvidia-open" if wanted.is_open else "cuda-drivers"


def _goes_back(machine: Snapshot, wanted: Wanted) -> bool:
    """Whether a newer branch is here: no package manager takes an older one in its place unasked."""
    here = Dotted(machine.nvidia_driver.version or "").series(1)
    return bool(here) and Dotted(wanted.branch) < here


def _apt(machine: Snapshot, wanted: Wanted) -> Iterator[Step]:
    yield Step(text="Refresh the package lists.", command=("apt-get", "update"))
    pin = f"nvidia-driver-pinning-{wanted.branch}"
    yield Step(text=f"Hold the driver on branch {wanted.branch}.", command=install("apt", pin))
    back = ("--allow-downgrades",) if _goes_back(machine, wanted) else ()
    argv = ("apt-get", "install", "--yes", *back, _package(wanted))
    yield Step(text=f"Install {_package(wanted)}.", command=argv)


def _dnf(machine: Snapshot, row: Distribution | None, wanted: Wanted) -> Iterator[Step]:
    branch, newest = wanted.branch, "without this, dnf installs the newest one"
    if _goes_back(machine, wanted):
        remove = ("dnf", "remove", "--assumeyes", "nvidia-driver*", "kmod-nvidia*")
        yield Step(text="Remove the newer driver.", command=remove)
    by_module = row.hold == "module" if row else (machine.os.version or "").partition(".")[0] in ("8", "9")
    if by_module:
        reset = ("dnf", "module", "reset", "--assumeyes", "nvidia-driver")
        stream = f"nvidia-driver:{branch}-{'open' if wanted.is_open else 'dkms'}"
        yield Step(text="Reset the current stream.", command=reset)
        yield Step(
            text=f"Select branch {branch}; {newest}.", command=("dnf", "module", "enable", "--assumeyes", stream)
        )
    else:
        if (
            Dotted(machine.nvidia_driver.version or "").series(1) == branch
        ):  # a lock takes the version that is installed
            upgrade = ("dnf", "upgrade", "--assumeyes", f"*nvidia*{branch}*")
            yield Step(text=f"Upgrade to the newest driver of branch {branch}.", command=upgrade)
        add = ("add",) if machine.os.id == "fedora" else ()
        if not add:
            plugin = install("dnf", "python3-dnf-plugin-versionlock")
            yield Step(text="Install dnf's plugin that holds versions.", command=plugin)
        lock = ("dnf", "versionlock", *add, f"*nvidia*{branch}*")
        yield Step(text=f"Hold the driver on branch {branch}; {newest}.", command=lock)
    over = ("--allowerasing",) if machine.nvidia_driver.version else ()  # the modules of the other flavour
    argv = ("dnf", "install", "--assumeyes", *over, _package(wanted))
    yield Step(text=f"Install {_package(wanted)}.", command=argv)


def _suse(machine: Snapshot, row: Distribution | None, wanted: Wanted) -> Iterator[Step]:
    """SUSE's signed modules; NVIDIA's repository has the user space, which must be of the same version."""
    generation = row.generations.get(wanted.branch) if row else None
    if generation is None or not wanted.is_open:
        yield Step(text=f"Add NVIDIA's repository and install branch {wanted.branch} (guide: SUSE): {GUIDE}")
        return
    yield from _repository(machine, row)
    module = f"nvidia-open-driver-{generation}-signed-cuda-kmp-default"
    text = f"Install SUSE's signed modules of generation {generation} (branch {wanted.branch})."
    yield Step(text=text, command=install("zypper", module))
    query = ("rpm", "--query", "--queryformat", "%{VERSION}", module)
    yield Step(text="Show the version that it brought: the part before `_` is VERSION below.", command=query)
    libraries = ("zypper", "--non-interactive", "install", f"nvidia-compute-utils-{generation}=VERSION")
    yield Step(text="Install the libraries of that version.", command=(*libraries, "nvidia-persistenced=VERSION"))


def _arch(wanted: Wanted) -> Iterator[Step]:
    """A rolling release: its driver is the newest one."""
    if wanted.is_open:
        text = "Upgrade the system with the current driver; Arch carries the newest branch only."
        yield Step(text=text, command=("pacman", "-Syu", "nvidia-open-dkms"))
    else:
        yield Step(text=f"Install nvidia-{wanted.branch}xx-dkms from the AUR; Arch itself dropped that branch.")
