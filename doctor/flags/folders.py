"""Folders and libraries that variables name, as they lie on the machine: writable, there at all.

A compiler's cache that can't be made or written stops the program at the first kernel that is not in it yet (Triton,
Inductor, AITER and vLLM make the folder themselves and let the error through).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from doctor.flags.beside import finding
from doctor.parsers.kernel import mountinfo

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.situation import Situation
    from doctor.parsers.kernel.mountinfo import Mount
    from doctor.system.base import Stat, System

CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "AITER_JIT_DIR", "VLLM_CACHE_ROOT", "HF_HOME")
"""MIOpen is not one of them: it warns and goes on without its database."""
_PLUGINS = ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN")
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
    if caches:
        mounts = system.read_text("proc/self/mountinfo", limit=4 << 20).then(mountinfo.read).value or ()
        who = account(system.read_text("proc/self/status").value or "")
        for name in caches:
            yield from _unwritable(system, name, env[name], who, mounts)
    for name in _PLUGINS:
        yield from _missing(system, name, env.get(name, ""))


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


def _missing(system: System, name: str, text: str) -> Iterator[Finding]:
    """NCCL goes on without a plug-in that it can't load: over sockets, or its own InfiniBand code."""
    for path in text.split(",")[:8]:
        if path.startswith("/") and "$" not in path and system.stat(path.lstrip("/")).is_absent:
            said = f"{name} names {path[:120]}, which is not there: NCCL goes on without it"
            yield finding(name, "warning", said, "Fix the path, or unset it.", "nccl-plugin-foreign", path[:120])
