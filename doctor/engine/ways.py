"""Variables that do not reach their program: by the scripts of a text, or by the processes above a running one.

Both are followed by the interpreter of `doctor env --trace`; what it does not know for sure is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.facts.process import LostVariable
from doctor.facts.sheet import FactSheet
from doctor.flags.names import described
from doctor.flags.way import findings, run
from doctor.flags.way.model import UNSET, Sees, Step
from doctor.parsers.text import assigned
from doctor.probes.host.environment import wanted
from doctor.redaction.secrets import masked, variable
from doctor.system.base import System
from doctor.triage.launches import Script

_MOST = 8
"""Processes above the one that is looked at, and lost variables of one text."""


class _Process(NamedTuple):
    pid: int
    env: dict[str, str]
    argv: list[str]


def of_scripts(scripts: Sequence[Script]) -> tuple[LostVariable, ...]:
    found: dict[str, LostVariable] = {}
    for script in scripts:
        kind = assigned.kind_of("", script.text)
        text = "\n" * (script.first - 1) + script.text
        try:
            followed = run.follow("text", text, kind if kind != "env" else "shell")
        except ParserError:
            continue
        for fault in findings.faults(followed, text):
            code = kind == "env" and fault.id == "spaces-around-sign"  # `A = 1`: most likely a piece of Python
            if fault.severity != "info" and not code:
                made = _lost(fault, lambda step: f"text:{step.line}")
                found.setdefault(made.key, made)
    return tuple(found.values())[:_MOST]


def _lost(fault: findings.Fault, place: Callable[[Step], str]) -> LostVariable:
    shown = tuple(f"{place(step)}: {text}" for step, text in fault.shown)
    key = f"{fault.name} {fault.id} {place(fault.steps[-1])}"
    return LostVariable(key=key, name=fault.name, step=fault.id, summary=fault.summary, cure=fault.cure, shown=shown)


def probe(system: System, sheet: FactSheet, pid: int) -> None:
    """What a process above this one has and this one has not, where its own command is known to take it away."""
    chain = list(_chain(system, pid))
    if len(chain) < 2:
        return
    own, found = chain[0], dict[str, LostVariable]()
    for above in chain[1:]:
        for name in sorted(n for n in above.env.keys() - own.env.keys() - found.keys() if _concerns(n)):
            if fault := _taken(name, above, own):
                found[name] = _lost(fault, lambda step: f"/proc/{step.line}/environ")
    rows = [each.model_dump() for each in found.values()][:_MOST]
    sheet.put("lost_variables", rows, f"file:/proc/{pid}/environ")


def left_behind(env: Mapping[str, str], argv: Sequence[str]) -> tuple[str, ...]:
    """Variables of the GPU stack that a command does not pass to the program that it starts; paths are of this side."""
    sees = Sees(UNSET)
    names = sorted(name for name, text in env.items() if text and "/" not in text and _concerns(name))
    for name in names:
        sees.put(name, env[name], Step("", 0, name))
    processes = run.started(list(argv), sees, 0).processes
    return tuple(name for name in names if findings.lost(name, processes))


def _concerns(name: str) -> bool:
    """A shell has many variables that its programs need not have; those of the GPU stack are set for one of them."""
    return bool(described(name)) and wanted(name) and not name.startswith("PYTHON")


def _taken(name: str, above: _Process, own: _Process) -> findings.Fault | None:
    """By the command of the process above, as the interpreter knows it."""
    sees = Sees(UNSET)
    sees.put(name, above.env[name], Step("", above.pid, f"{name}={variable(name, above.env[name])}"))
    gone = findings.lost(name, run.started(above.argv, sees, above.pid).processes)
    if gone is None:
        return None
    problem = (
        f"{name} is set for `{masked(' '.join(above.argv))[:80]}` (process {above.pid}) and does not reach process "
        f"{own.pid}: {gone.step.what}"
    )
    step = gone.step._replace(line=own.pid, what="not set")
    return findings.Fault(
        gone.step.id, name, "warning", problem, findings.cure_of(gone.step.id, name), (gone.alt.steps[0], step)
    )


def _chain(system: System, pid: int) -> Iterator[_Process]:
    """The process and those above it, each with its environment; up to the first that may not be read."""
    for _ in range(_MOST):
        environ = system.read_text(f"proc/{pid}/environ", limit=1 << 18).value
        command = system.read_text(f"proc/{pid}/cmdline", limit=1 << 16).value
        status = system.read_text(f"proc/{pid}/status", limit=1 << 13).value
        if not (environ and command and status):
            return
        rows = (row.partition("=") for row in environ.split("\0"))
        env = {name: value for name, _, value in rows if name}
        yield _Process(pid, env, command.rstrip("\0").split("\0"))
        pid = next((int(line.split()[1]) for line in status.split("\n") if line.startswith("PPid:")), 0)
        if pid < 2:
            return
