"""A running process as a machine of its own: its root, environment, account and limits, as /proc tells them.

For a process of a container that is the container's inside, seen from the host. Ids are those of this namespace. No
command is run in it and no GPU asked. Whether it may open a node is worked out from the node's mode and from the rules
of its device cgroup, where they can be read (control groups of version 1), unless `opener` can try it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system import asked, files
from doctor.system.base import READ_DEADLINE_S, READ_LIMIT, Reading, Stat
from doctor.system.tree import TreeSystem

T = TypeVar("T")
Opener = Callable[[str], Reading[str]]
"""Tries to open a node where the process lives; answers as System.try_open does."""

_LIMITS = {
    "Max locked memory": "memlock",
    "Max address space": "as",
    "Max open files": "nofile",
    "Max processes": "nproc",
    "Max stack size": "stack",
}
_OVERRIDES_MODES = 1 << 1
"""CAP_DAC_OVERRIDE of the effective set (capabilities(7))."""
_OF_THE_PROCESS = ("proc/self", "proc/thread-self")


def _is_of_the_kernel(pid: int) -> bool:
    """PF_KTHREAD of the flags, the seventh field behind the name (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return bool(int(fields[6]) & 0x200000)
    except (OSError, IndexError, ValueError):
        return False


class ProcessSystem(TreeSystem):
    """`proc/self` is the process. Raises InputError where there is none, or its root may not be entered."""

    kind = "live"

    def __init__(self, pid: int, opener: Opener | None = None, *, read_deadline_s: float = READ_DEADLINE_S) -> None:
        root = f"/proc/{pid}/root"
        try:
            os.listdir(f"{root}/")
        except FileNotFoundError:
            ended = os.path.exists(f"/proc/{pid}/stat")  # a zombie, or a thread of the kernel on its way out
            why = "has ended; its parent has not asked for its exit status" if ended else "there is no such process"
            raise InputError(f"pid {pid}: {why}") from None
        except OSError as error:
            hint = "another namespace owns it" if os.geteuid() == 0 else "run as its owner or as root"
            raise InputError(f"pid {pid}: {error.strerror}; {hint}") from error
        if _is_of_the_kernel(pid):
            raise InputError(f"pid {pid}: is a thread of the kernel, with no environment, libraries or devices")
        super().__init__(Path("/"), read_deadline_s=read_deadline_s)
        self._host = TreeSystem(Path("/"), read_deadline_s=read_deadline_s)
        self.pid = pid
        # With the dot, so that the link which the kernel keeps there is entered and not resolved by name: its text is
        # a path of another root.
        self._root = f"{root}/."
        self._opener = opener

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        if own := self._own(path):
            return self._host.read_text(own, limit=limit, deadline_s=deadline_s)
        return super().read_text(path, limit=limit, deadline_s=deadline_s)

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]:
        if own := self._own(path):
            return self._host.list_dir(own, deadline_s=deadline_s)
        return super().list_dir(path, deadline_s=deadline_s)

    def stat(self, path: str) -> Reading[Stat]:
        own = self._own(path)
        return self._host.stat(own) if own else super().stat(path)

    def link(self, path: str) -> Reading[str]:
        own = self._own(path)
        return self._host.link(own) if own else super().link(path)

    def _own(self, path: str) -> str | None:
        relative = asked.relative(path)
        for start in _OF_THE_PROCESS:
            if relative == start or relative.startswith(f"{start}/"):
                return f"proc/{self.pid}{relative[len(start) :]}"
        return None

    def _attempt(self, path: str, work: Callable[[], T], deadline_s: float | None = None) -> Reading[T]:
        """What is not in a running process's root is absent: it is no partial tree."""
        return files.attempt(asked.file_source(path), self._read_s if deadline_s is None else deadline_s, work)

    def environ(self) -> Reading[Mapping[str, str]]:
        reading = self._host.read_text(f"proc/{self.pid}/environ", limit=4 << 20)
        if reading.value is None:
            return Reading(reading.state, reading.source, None, reading.detail)
        pairs = (part.partition("=") for part in reading.value.split("\0") if "=" in part)
        return Reading(State.VALUE, reading.source, {name: value for name, _, value in pairs})

    def account(self) -> Reading[Mapping[str, Any]]:
        reading = self._host.read_text(f"proc/{self.pid}/status", limit=1 << 16)
        rows = _rows(reading.value)
        try:
            ids: Mapping[str, Any] = {
                "uid": int(rows["Uid"].split()[1]),
                "gid": int(rows["Gid"].split()[1]),
                "gids": [int(gid) for gid in rows.get("Groups", "").split()],
            }
        except (KeyError, IndexError, ValueError):
            state = State.UNREADABLE if reading.known else reading.state
            return Reading(state, reading.source, None, reading.detail)
        return Reading(State.VALUE, reading.source, ids)

    def limits(self) -> Reading[Mapping[str, int]]:
        reading = self._host.read_text(f"proc/{self.pid}/limits", limit=1 << 16)
        found = {}
        for line in (reading.value or "").splitlines():
            for title, name in _LIMITS.items():
                soft = line[len(title) :].split()[:1] if line.startswith(title) else []
                if soft:
                    found[name] = -1 if soft[0] == "unlimited" else int(soft[0]) if soft[0].isdecimal() else -1
        if not found:
            return Reading(reading.state if not reading.known else State.UNREADABLE, reading.source, None)
        return Reading(State.VALUE, reading.source, found)

    def try_open(self, path: str) -> Reading[str]:
        if self._opener is not None:
            tried = self._opener(path)
            if tried.known:
                return tried
        return self._expected(path)

    def _expected(self, path: str) -> Reading[str]:
        """What its mode and the cgroup's rules say; not asked where they do not decide."""
        node, account = self.stat(path), self.account()
        source = asked.file_source(path)
        if node.value is None or node.value.major is None or account.value is None:
            return Reading(State.NOT_ASKED, source, None, "a node of another process is not opened")
        rules = self._device_rules()
        if rules is not None and not _allowed(rules, node.value):
            return Reading(State.VALUE, source, "EPERM", "the device cgroup of the process does not list it")
        if not self._permits(node.value, account.value):
            return Reading(State.VALUE, source, "EACCES", "its mode")
        if rules is None:
            return Reading(State.NOT_ASKED, source, None, "the rules of its device cgroup can't be read")
        return Reading(State.VALUE, source, "ok", "its mode and the rules of the device cgroup allow it")

    def _permits(self, node: Stat, account: Mapping[str, Any]) -> bool:
        status = _rows(self._host.read_text(f"proc/{self.pid}/status", limit=1 << 16).value)
        capabilities = status.get("CapEff", "0").strip()
        if re.fullmatch(r"[0-9a-f]{1,16}", capabilities) and int(capabilities, 16) & _OVERRIDES_MODES:
            return True
        if account["uid"] == node.uid:
            bits = node.mode >> 6
        elif node.gid in (account["gid"], *account["gids"]):
            bits = node.mode >> 3
        else:
            bits = node.mode
        return bits & 0o6 == 0o6

    def _device_rules(self) -> tuple[str, ...] | None:
        """Lines of devices.list, of control groups of version 1 alone: those of version 2 are a program."""
        groups = self._host.read_text(f"proc/{self.pid}/cgroup", limit=1 << 16).value or ""
        path = next((line.split(":", 2)[2] for line in groups.splitlines() if ":devices:" in line), None)
        if path is None or ".." in path.split("/"):
            return None
        listed = self._host.read_text(f"sys/fs/cgroup/devices/{path.strip('/')}/devices.list", limit=1 << 16).value
        return tuple(listed.splitlines()) if listed is not None else None


def _rows(text: str | None) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition(":") for line in (text or "").splitlines())}


def _allowed(rules: tuple[str, ...], node: Stat) -> bool:
    """https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/devices.html"""
    for rule in rules:
        kind, _, rest = rule.partition(" ")
        number, _, rights = rest.partition(" ")
        major, _, minor = number.partition(":")
        same_kind = kind == "a" or kind == {"char": "c", "block": "b"}.get(node.kind)
        same = major in ("*", str(node.major)) and minor in ("*", str(node.minor))
        if same_kind and same and "r" in rights and "w" in rights:
            return True
    return False
