"""Folders and libraries that variables name, as they lie on the machine: writable, lasting, shared, there at all.

A compiler's cache that can't be made or written stops the program at the first kernel that is not in it yet (Triton,
Inductor, AITER and vLLM make the folder themselves and let the error through). On tmpfs or in a container's own layer
it is gone after a restart; on a file system of the network other machines with other GPUs find it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from doctor.flags.beside import finding
from doctor.flags.situation import release
from doctor.parsers.kernel import mountinfo

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.situation import Situation
    from doctor.parsers.kernel.mountinfo import Mount
    from doctor.system.base import Stat, System

CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "AITER_JIT_DIR", "VLLM_CACHE_ROOT", "HF_HOME")
"""MIOpen is not one of them: it warns and goes on without its database."""
SHARED = ("AITER_JIT_DIR", "TF_XLA_HSACO_CACHE_DIR")
"""Hold code for one kind of GPU and release, and do not say for which."""
_PLUGINS = ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN")
_NCCLS = ("LD_PRELOAD", "VLLM_NCCL_SO_PATH")
_GONE_AFTER = ("tmpfs", "ramfs", "overlay")
_NETWORK = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "afs", "wekafs", "9p", "virtiofs")
_UNNAMED = "/tmp"  # noqa: S108 - where Inductor makes its folder
_UP = 40
"""Folders above the named one that are looked at."""


class Account(NamedTuple):
    """Who writes: of the process's status file."""

    uid: int
    groups: frozenset[int]


def look(system: System, situation: Situation) -> Iterator[Finding]:
    """Nothing is read where no variable names a folder."""
    env = situation.env
    caches = [name for name in CACHES if env.get(name, "").startswith("/")]
    lasting = situation.context("serving") is True and env.get("TORCHINDUCTOR_MAX_AUTOTUNE") == "1"
    if caches or lasting or any(env.get(name) for name in SHARED):
        mounts = system.read_text("proc/self/mountinfo", limit=4 << 20).then(mountinfo.read).value or ()
        who = account(system.read_text("proc/self/status").value or "")
        for name in caches:
            yield from _unwritable(system, name, env[name], who, mounts)
        for name in SHARED:
            yield from _of_the_network(name, env.get(name, ""), mounts)
        if lasting:
            yield from _not_lasting(env.get("TORCHINDUCTOR_CACHE_DIR") or _UNNAMED, mounts)
    for name in _PLUGINS:
        yield from _missing(system, name, env.get(name, ""))
    for name in _NCCLS:
        yield from _another_nccl(system, name, env.get(name, ""), situation.version("nccl"))


def account(status: str) -> Account | None:
    """Effective ids of proc/PID/status.

    >>> account("Uid:\\t1000\\t1001\\t1000\\t1000\\nGid:\\t5\\t6\\t5\\t5\\nGroups:\\t27 44 \\n")
    Account(uid=1001, groups=frozenset({27, 44, 6}))
    """
    lines = dict(line.split(":", 1) for line in status.splitlines()[:80] if ":" in line)
    numbers = {
        name: [int(n) for n in lines.get(name, "").split() if n.isdecimal()] for name in ("Uid", "Gid", "Groups")
    }
    if len(numbers["Uid"]) < 2 or len(numbers["Gid"]) < 2:
        return None
    return Account(numbers["Uid"][1], frozenset((numbers["Gid"][1], *numbers["Groups"])))


def writable(stat: Stat, who: Account) -> bool | None:
    """By owner and bits; None where an access list may say otherwise (the group's bits are then its mask)."""
    if who.uid in (0, stat.uid):
        return who.uid == 0 or bool(stat.mode & 0o200)
    if stat.gid in who.groups:
        return bool(stat.mode & 0o020)
    return True if stat.mode & 0o002 else None if stat.mode & 0o020 else False


def _unwritable(
    system: System, name: str, path: str, who: Account | None, mounts: tuple[Mount, ...]
) -> Iterator[Finding]:
    folder, stat = _existing(system, path)
    if stat is None:
        return
    mount = holding(mounts, folder)
    if stat.kind != "dir":
        why = f"{folder} is no folder"
    elif mount and re.match(r"ro(?:,|$)", mount.options):
        why = f"{mount.point} is mounted read-only"
    elif who and writable(stat, who) is False:
        why = f"user {who.uid} may not write in {folder} (mode {stat.mode:o}, owner {stat.uid})"
    else:
        return
    said = f"{name}={path[:120]}: {why}; what must be compiled or fetched into it fails"
    yield finding(name, "warning", said, "Name a folder that can be written.", "cache-dir-unwritable", f"/{folder}")


def _existing(system: System, path: str) -> tuple[str, Stat | None]:
    """The folder, or the nearest one above it that is there: it would be made in that."""
    path = posixpath.normpath(path)
    for _ in range(_UP):
        found = system.stat(path.lstrip("/") or ".")
        if found.value is not None:
            return path, found.value
        if not found.is_absent or path == "/":
            break
        path = posixpath.dirname(path)
    return path, None


def holding(mounts: tuple[Mount, ...], path: str) -> Mount | None:
    """The mount that a path lies on: the longest point above it, the last of the same."""
    above = [m for m in mounts if m.point == "/" or path == m.point or path.startswith(f"{m.point}/")]
    longest = max((len(m.point) for m in above), default=0)
    return next((m for m in reversed(above) if len(m.point) == longest), None)


def _of_the_network(name: str, path: str, mounts: tuple[Mount, ...]) -> Iterator[Finding]:
    mount = holding(mounts, posixpath.normpath(path)) if path.startswith("/") else None
    if mount and (mount.fstype in _NETWORK or mount.fstype.startswith("fuse.")):
        said = f"{name}={path[:120]} lies on {mount.fstype}: machines that share it load each other's code objects"
        cure = "One folder for each kind of GPU and release."
        what = "aiter-jit-shared" if name == "AITER_JIT_DIR" else "hsaco-cache-shared"
        yield finding(name, "info", said, cure, what, f"{mount.point} {mount.fstype}")


def _not_lasting(path: str, mounts: tuple[Mount, ...]) -> Iterator[Finding]:
    mount = holding(mounts, posixpath.normpath(path))
    if mount and mount.fstype in _GONE_AFTER:
        said = f"Inductor's cache in {path[:120]} is on {mount.fstype}: each restart of the server tunes again"
        cure = "Put TORCHINDUCTOR_CACHE_DIR on a volume that stays."
        source = f"{mount.point} {mount.fstype}"
        yield finding("TORCHINDUCTOR_MAX_AUTOTUNE", "warning", said, cure, "maxautotune-no-cache", source)


def _missing(system: System, name: str, text: str) -> Iterator[Finding]:
    """NCCL goes on without a plug-in that it can't load: over sockets, or its own InfiniBand code."""
    for path in text.split(",")[:8]:
        if path.startswith("/") and "$" not in path and system.stat(path.lstrip("/")).is_absent:
            said = f"{name} names {path[:120]}, which is not there: NCCL goes on without it"
            yield finding(name, "warning", said, "Mend the path, or unset it.", "nccl-plugin-foreign", path[:120])


def _another_nccl(system: System, name: str, text: str, ours: str | None) -> Iterator[Finding]:
    """By the names of files: libnccl.so.2 is a link to libnccl.so.2.27.3; the wheel's own copy has no number."""
    for path in re.split(r"[:\s]+", text)[:20]:
        if not (ours and path.startswith("/") and "/libnccl.so" in path):
            continue
        found = re.search(
            r"/libnccl\.so\.(\d{1,3}\.\d{1,3}\.\d{1,3})$", f"/{system.real(path.lstrip('/')).value or ''}"
        )
        if found and release(found[1]) != release(ours)[:3]:
            said = f"{name} puts NCCL {found[1]} ({path[:120]}) in the place of {ours[:20]}, which torch was built with"
            cure = "Only with a release that was tested with this torch."
            yield finding(name, "warning", said, cure, "ld-preload-nccl", path[:120])
