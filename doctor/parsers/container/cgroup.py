"""Text of proc/PID/cgroup -> the paths of its control groups (v1 and v2), and the container engine that they name.

>>> engine(read("0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-0123456789abcdef.scope\\n"))
'kubernetes'
>>> engine(read("0::/init.scope\\n")) is None
True
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_LINE = re.compile(r"^\d{1,4}:[^:]{0,200}:(/.{0,2000})$")
_LINES = 200
_ENGINES = (
    ("kubernetes", re.compile(r"(?:^|/)kubepods")),
    ("podman", re.compile(r"/libpod(?:_parent|-[0-9a-f]|-conmon|/)")),
    ("docker", re.compile(r"/docker[/-][0-9a-f]{12}")),
    ("lxc", re.compile(r"/(?:lxc(?:\.payload)?[./]|lxc\.payload)")),
    ("systemd-nspawn", re.compile(r"/machine\.slice/(?:systemd-nspawn@|machine-[^/]+\.scope/payload)")),
    ("containerd", re.compile(r"/(?:cri-)?containerd[-/:]|/default/[0-9a-f]{64}$|/nerdctl[-/]")),
)
"""Longest-lived markers first: a Kubernetes pod's path also names containerd. What each runtime calls its cgroups."""


def read(text: str) -> tuple[str, ...]:
    """The distinct paths. Raises ParserError on a text that has no such line."""
    paths = dict.fromkeys(clean(m[1], 2000) for line in text.splitlines()[:_LINES] if (m := _LINE.match(line)))
    if not paths:
        raise ParserError("no line of the form 'N:CONTROLLERS:/PATH': not proc/PID/cgroup")
    return tuple(paths)


def engine(paths: tuple[str, ...]) -> str | None:
    """The engine that one of the paths names; None when none does, which proves nothing under a private namespace."""
    for name, pattern in _ENGINES:
        if any(pattern.search(path) for path in paths):
            return name
    return None
