"""What can be asked of a System, as text: the keys of a capture and the sources of readings (docs/captures.md).

>>> key("bytes", "proc/driver/nvidia/version", 0, 64), run_key(["nvidia-smi", "-L"])
('bytes:proc/driver/nvidia/version:0:64', 'run:["nvidia-smi","-L"]')
>>> file_source("/proc/version"), command_source(["lspci", "-d", "10de:"])
('file:/proc/version', 'command:lspci -d 10de:')
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

ENVIRON, ACCOUNT, LIMITS, NVML, KIND = "environ", "account", "limits", "nvml", "kind"
LIMIT_FACTS = ("memlock_bytes", "as_bytes", "nofile", "nproc", "stack_bytes")
"""Fields of the fact `host` that are limits of a process."""


def relative(path: str) -> str:
    """The path as all Systems name it: no leading and no trailing slash."""
    return path.strip("/")


def key(kind: str, path: str, *more: int) -> str:
    """`kind:PATH`, with the numbers that belong to the question behind it."""
    return ":".join([kind, relative(path), *map(str, more)])


def run_key(argv: Sequence[str]) -> str:
    return "run:" + json.dumps(list(argv), separators=(",", ":"))


def derived_key(name: str, path: str) -> str:
    return f"derived:{name}:{relative(path)}"


def file_source(path: str) -> str:
    return "file:/" + relative(path)


def command_source(argv: Sequence[str]) -> str:
    return "command:" + shlex.join(argv)[:300]
