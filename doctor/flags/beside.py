"""What stands beside the environment and counts with it: NCCL's own files, and the files that variables name.

NCCL takes `NAME=value` lines of $NCCL_CONF_FILE, else ~/.nccl.conf, and of /etc/nccl.conf, for names that are not set;
the first file wins (src/misc/param.cc). RCCL's are ~/.rccl.conf and /etc/rccl.conf (its page on variables). The loader
passes over a library of LD_PRELOAD that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts.origin import State
from doctor.findings import Evidence, Finding
from doctor.flags.lint import CONFLICT, finding

if TYPE_CHECKING:
    from doctor.system.base import System

_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})=(.{0,1000})")
_MOST = 200


class Beside(NamedTuple):
    """Variables that NCCL's files add, with their places, and what is to be said of them."""

    env: Mapping[str, str]
    places: Mapping[str, str]
    findings: tuple[Finding, ...]


def look(system: System, env: Mapping[str, str], vendors: Collection[str] = ("nvidia",)) -> Beside:
    """`vendors` of the GPUs: RCCL's files are read for AMD's, NCCL's for NVIDIA's."""
    added: dict[str, str] = {}
    places: dict[str, str] = {}
    found: list[Finding] = [*_preloads(system, env), *_plugins(system, env)]
    home = (system.environ().value or {}).get("HOME") or env.get("HOME")
    for path in dict.fromkeys(p for vendor in vendors for p in _files(env.get("NCCL_CONF_FILE"), home, vendor)):
        text = system.read_text(path, limit=1 << 16).value
        for number, name, value in _assignments(text or ""):
            if name not in env and name not in added:
                added[name], places[name] = value, f"/{path.lstrip('/')}:{number}"
        names = [name for name, place in places.items() if place.startswith(f"/{path.lstrip('/')}:")]
        if names:
            found.append(_hidden(path, names))
    return Beside(added, places, tuple(found))


def _files(named: str | None, home: str | None, vendor: str) -> Iterator[str]:
    """In the order in which NCCL, or RCCL, reads them."""
    library = "rccl" if vendor == "amd" else "nccl"
    if named:
        yield named
    elif home:
        yield f"{home}/.{library}.conf"
    yield f"etc/{library}.conf"


def _assignments(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.split("\n")[:_MOST], 1):
        found = _LINE.match(line.rstrip("\r"))
        if found and not line.startswith("#"):
            yield number, found[1], found[2]


def _preloads(system: System, env: Mapping[str, str]) -> Iterator[Finding]:
    for path in re.split(r"[:\s]+", env.get("LD_PRELOAD", ""))[:20]:
        if path.startswith("/") and "$" not in path and system.stat(path).state is State.ABSENT:
            said = f"LD_PRELOAD names {path[:120]}, which is not there: the loader warns and goes on without it"
            yield _finding(
                "LD_PRELOAD", "warning", said, "Fix the path, or unset it.", "ld-preload-missing", "ld.so(8)"
            )


def _plugins(system: System, env: Mapping[str, str]) -> Iterator[Finding]:
    """NCCL goes on without a plug-in that it can't load: over sockets, or its own InfiniBand code."""
    for name in ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN"):
        for path in env.get(name, "").split(",")[:8]:
            if path.startswith("/") and "$" not in path and system.stat(path.lstrip("/")).is_absent:
                said = f"{name} names {path[:120]}, which is not there: NCCL goes on without it"
                yield _finding(name, "warning", said, "Fix the path, or unset it.", "nccl-plugin-foreign", path[:120])


def _hidden(path: str, names: list[str]) -> Finding:
    shown = ", ".join(names[:6])
    said = f"/{path.lstrip('/')} sets {shown}, which the environment does not show"
    return _finding(names[0], "info", said, "Nothing, where it is meant.", "nccl-conf-hidden", f"/{path.lstrip('/')}")


def _finding(name: str, severity: str, said: str, cure: str, what: str, source: str) -> Finding:
    """Of a variable, by the id of an interaction."""
    return finding(CONFLICT, severity, name, said, cure, what, (Evidence(text=what, source=source),))
