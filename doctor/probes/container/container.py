"""Whether this is inside a container, and of which engine. Reads marker files, cgroups, mounts and a few variables.

Cost: ten small files, no command, no root (as root pid 1's environment is read too). A `/.dockerenv` that was carried
into a virtual machine's disk is not taken for a container: Docker mounts etc/resolv.conf or etc/hosts, or has a
layered root. Absence is known only when pid 1's cgroup and the mounts could be read and nothing points to a container.
"""

from __future__ import annotations

from typing import NamedTuple

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.container import cgroup
from doctor.parsers.kernel import mountinfo
from doctor.parsers.kernel.mountinfo import Mount
from doctor.system.base import System

READS: tuple[str, ...] = (
    "file:run/.containerenv name",
    "stat:.dockerenv public",
    "stat:.singularity.d public",
    "file:run/systemd/container public",
    "file:proc/1/environ secret-bearing",
    "file:proc/1/cgroup name",
    "file:proc/self/cgroup name",
    "file:proc/self/mountinfo name",
    "file:proc/self/status public",
    "environment secret-bearing",
    "dir:sys/devices/system/node public",
    "derived:mempolicy public",
)

_LAYERED = ("overlay", "aufs", "fuse.fuse-overlayfs", "fuse-overlayfs", "fuse.squashfuse", "squashfs")
_NAMES = {
    "docker": "docker",
    "podman": "podman",
    "oci": None,
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "systemd-nspawn": "systemd-nspawn",
    "apptainer": "apptainer",
    "singularity": "apptainer",
    "enroot": "enroot",
    "containerd": "containerd",
    "kube": "kubernetes",
}
"""Words of the variable `container` and of run/systemd/container. wsl and proot are no containers for us."""


_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261}
"""Linux: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h, arch/powerpc/kernel/syscalls."""
_SECCOMP = {"0": "off", "1": "strict", "2": "filter"}
_CAPABILITIES = {"IPC_LOCK": 14, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_NICE": 23}
"""Bits of capabilities(7)."""


class _Sign(NamedTuple):
    engine: str | None
    source: str
    detail: str


def probe(system: System, sheet: FactSheet) -> None:
    mounts = system.read_text("proc/self/mountinfo", limit=4 << 20).then(mountinfo.read)
    signs = [*_variables(system), *_marker_files(system, mounts.value), *_cgroups(system), *_mounts(mounts.value)]
    if signs:
        named = next((s for s in signs if s.engine), None)
        sheet.put("container.inside", True, signs[0].source, signs[0].detail)
        _profile(system, sheet)
        if named:
            sheet.put("container.engine", named.engine, named.source, named.detail)
        else:
            sheet.miss("container.engine", State.FAILED, signs[0].source, "no mark of an engine that we know")
        return
    _absence(system, sheet, mounts.value)


def _profile(system: System, sheet: FactSheet) -> None:
    status = system.read_text("proc/self/status", limit=1 << 16)
    rows = dict(line.partition(":")[::2] for line in (status.value or "").splitlines())
    mode = _SECCOMP.get(rows.get("Seccomp", "").strip())
    if mode:
        sheet.put("container.seccomp", mode, status.source)
    else:
        sheet.miss("container.seccomp", State.UNREADABLE if status.known else status.state, status.source)
    if mode == "filter":
        _mempolicy(system, sheet)
    bounding = rows.get("CapBnd", "").strip()
    if bounding and all(c in "0123456789abcdef" for c in bounding) and len(bounding) <= 16:
        held = [name for name, bit in _CAPABILITIES.items() if int(bounding, 16) >> bit & 1]
        sheet.put("container.capabilities", held, status.source)


def _mempolicy(system: System, sheet: FactSheet) -> None:
    """Tried by this process itself, where it matters: on several NUMA nodes. Another process's filter is not tried."""
    nodes = system.list_dir("sys/devices/system/node").value or ()
    several = sum(name.startswith("node") and name[4:].isdigit() for name in nodes) > 1
    if several and system.kind != "tree" and not hasattr(system, "pid"):
        system.derived("mempolicy", "proc/self/status", _tried).into(sheet, "container.mempolicy")


def _tried() -> str:
    """Sets the policy that this process has anyway (MPOL_DEFAULT)."""
    import ctypes
    import errno
    import platform

    number = _SET_MEMPOLICY.get(platform.machine())
    if number is None:
        raise ParserError(f"set_mempolicy has no known number on {platform.machine()[:20]}")
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(ctypes.c_long(number), ctypes.c_long(0), None, ctypes.c_ulong(0))
    return "refused" if done and ctypes.get_errno() in (errno.EPERM, errno.EACCES) else "allowed"


def _variables(system: System) -> list[_Sign]:
    reading = system.environ()
    environ = reading.value if reading.known and reading.value is not None else {}
    first = system.read_text("proc/1/environ")
    pid1 = dict(part.partition("=")[::2] for part in (first.value or "").split("\0"))
    signs = []
    if environ.get("KUBERNETES_SERVICE_HOST"):
        signs.append(_Sign("kubernetes", "environment:KUBERNETES_SERVICE_HOST", "set in every pod"))
    signs += [
        _Sign("apptainer", f"environment:{name}", "set inside the container")
        for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "APPTAINER_NAME", "SINGULARITY_NAME")
        if environ.get(name)
    ]
    for held, source in ((environ, "environment:container"), (pid1, first.source)):
        word = held.get("container", "").strip().lower()
        if word in _NAMES:
            signs.append(_Sign(_NAMES[word], source, f"container={word}"))
    return signs


def _marker_files(system: System, mounts: tuple[Mount, ...] | None) -> list[_Sign]:
    signs = []
    written = system.read_text("run/systemd/container", limit=4096)
    word = (written.value or "").strip().lower()
    if word in _NAMES:
        signs.append(_Sign(_NAMES[word], written.source, f"systemd found {word}"))
    for path, engine in (("run/.containerenv", "podman"), (".dockerenv", "docker"), (".singularity.d", "apptainer")):
        reading = system.stat(path)
        if reading.known and not (engine == "docker" and _left_over(mounts)):
            signs.append(_Sign(engine, reading.source, f"/{path} is there"))
    return signs


def _left_over(mounts: tuple[Mount, ...] | None) -> bool:
    """Whether a /.dockerenv came with a disk image: its root is no layered filesystem and Docker's own mounts lack."""
    if mounts is None:
        return False
    root = mountinfo.at(mounts, "/")
    dockers_own = any(mountinfo.at(mounts, point) for point in ("/etc/resolv.conf", "/etc/hosts", "/etc/hostname"))
    return not (dockers_own or root is None or root.fstype in _LAYERED)


def _cgroups(system: System) -> list[_Sign]:
    signs = []
    for path in ("proc/1/cgroup", "proc/self/cgroup"):
        reading = system.read_text(path).then(cgroup.read)
        # A process that was started by an engine on a host shows the engine's cgroup only as its own, never as pid 1's;
        # sharing the host's pid namespace inside a container turns that round, so either counts.
        if reading.value and (engine := cgroup.engine(reading.value)):
            signs.append(_Sign(engine, reading.source, "the path of its control group"))
    return signs


def _mounts(mounts: tuple[Mount, ...] | None) -> list[_Sign]:
    if not mounts:
        return []
    signs = []
    source = "file:/proc/self/mountinfo"
    root = mountinfo.at(mounts, "/")
    if any(m.fstype == "fuse.lxcfs" and m.point.startswith("/proc/") for m in mounts):
        signs.append(_Sign("lxc", source, "lxcfs is mounted over files of /proc"))
    if any(m.point.endswith("/run/secrets/kubernetes.io/serviceaccount") for m in mounts):
        signs.append(_Sign("kubernetes", source, "a service account is mounted"))
    if any(m.point == "/etc/resolv.conf" and "/docker/containers/" in (m.root or "") for m in mounts):
        signs.append(_Sign("docker", source, "etc/resolv.conf comes from Docker's folder"))
    if any(m.point.endswith("/.containerenv") and "overlay-containers" in (m.root or "") for m in mounts):
        signs.append(_Sign("podman", source, "run/.containerenv comes from Podman's folder"))
    if root and root.fstype in _LAYERED and ("/docker/overlay2/" in root.options or "/overlay2/l/" in root.options):
        signs.append(_Sign("docker", source, "the root is made of Docker's layers"))
    elif root and root.fstype in _LAYERED and "io.containerd.snapshotter" in root.options:
        signs.append(_Sign("containerd", source, "the root is made of containerd's layers"))
    elif root and root.fstype == "overlay" and "/containers/storage/overlay" in root.options:
        signs.append(_Sign("podman", source, "the root is made of Podman's layers"))
    return signs


def _absence(system: System, sheet: FactSheet, mounts: tuple[Mount, ...] | None) -> None:
    """False only when pid 1 sits at the top of its control groups and the root is a plain filesystem."""
    first = system.read_text("proc/1/cgroup").then(cgroup.read)
    root = mountinfo.at(mounts, "/") if mounts else None
    on_top = first.value is not None and all(p in ("/", "/init.scope") for p in first.value)
    if on_top and root is not None and root.fstype not in _LAYERED and root.root in ("/", "/@", "/root", None):
        sheet.put("container.inside", False, first.source, "pid 1 is at the top, the root is a filesystem of its own")
        return
    state = first.state if not first.known else State.FAILED
    if state is State.ABSENT:
        state = State.NOT_ASKED
    sheet.miss("container.inside", state, first.source, first.detail or "no mark of a container, no proof of a host")
