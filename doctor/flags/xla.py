"""Names in XLA_FLAGS that the jaxlib at hand does not know: the process ends with `Unknown flag in XLA_FLAGS`.

A jaxlib holds the names of its flags as C strings, and they come and go with each release. jaxlib parses the variable
for its CPU client too, so what it does not know is fatal whatever plugin drives the GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from doctor.flags.beside import finding

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.situation import Situation
    from doctor.system.base import Ranges, System

_LIBRARIES = ("libjax_common.so", "xla_extension.so")
"""Of jaxlib, the new and the old one."""
_FLAG = re.compile(r"--(xla_[a-z0-9_]{3,90})(?==|$)")
_PIECE = 16 << 20
_OVERLAP = 128
_MOST = 60
_DEADLINE_S = 4.0


def look(system: System, situation: Situation) -> Iterator[Finding]:
    """Reads the library only where XLA_FLAGS names flags and jaxlib is installed."""
    names = named(situation.env.get("XLA_FLAGS", ""))
    held = next((p for p in situation.machine.packages or () if p.name == "jaxlib" and p.location), None)
    if not names or held is None:
        return
    for library in _LIBRARIES:
        path = f"{str(held.location).strip('/')}/jaxlib/{library}"
        if not system.stat(path).known:
            continue
        work = partial(missing, names=names)
        found = system.derived_from(f"xla flags {' '.join(names)}", path, work, deadline_s=_DEADLINE_S)
        for name in found.value or ():
            said = f"XLA_FLAGS has --{name}, which jaxlib {held.version[:20]} does not know: the program stops"
            cure = f"Take --{name} out of XLA_FLAGS."
            yield finding("XLA_FLAGS", "error", said, cure, "xla-unknown-flag", f"/{path}")
        return


def named(text: str) -> tuple[str, ...]:
    """Names of the flags in a value of XLA_FLAGS; () where it is the name of a file.

    >>> named("--xla_gpu_autotune_level=4 --xla_dump_to=/tmp"), named("/etc/xla.flags")
    (('xla_gpu_autotune_level', 'xla_dump_to'), ())
    """
    words = text[:8192].split()
    if not words or not words[0].startswith("-"):
        return ()
    return tuple(dict.fromkeys(m[1] for word in words if (m := _FLAG.match(word))))[:_MOST]


def missing(file: Ranges, names: tuple[str, ...]) -> list[str]:
    """Those that end no C string of the file; linkers share the tails of strings, so what stands before may be any."""
    left = {name: f"{name}\0".encode() for name in names}
    for start in range(0, file.size, _PIECE):
        piece = file.at(start, _PIECE + _OVERLAP)
        left = {name: wanted for name, wanted in left.items() if wanted not in piece}
        if not left:
            break
    return sorted(left)
