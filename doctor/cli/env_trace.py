"""`doctor env FILE --trace NAME`: the way of a variable to each program that the files start; of `all`, a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from doctor.flags.way.frame import Followed
    from doctor.flags.way.model import Step
    from doctor.flags.way.trace import Way
    from doctor.system.base import System

ALL = "all"
_CELL = 14


class Traced(NamedTuple):
    file: str
    found: Followed
    ways: list[tuple[str, Way]]
    """Variable, and what one program has of it."""


class Live(NamedTuple):
    """A running process: its arguments and environment."""

    pid: str
    argv: tuple[str, ...]
    env: dict[str, str]


def traced(files: Sequence[Path], name: str, kind: str | None) -> list[Traced]:
    """Raises InputError or ParserError for a file that can't be read."""
    from doctor.cli.env_files import _beside, _text
    from doctor.flags.way import run, trace
    from doctor.parsers.text.assigned import kind_of

    made = []
    for file in files:
        text = _text(file)
        found = run.follow(str(file), text, kind or kind_of(str(file), text), partial(_beside, file))
        names = trace.names(found.processes) if name == ALL else [name]
        made.append(Traced(str(file), found, [(n, way) for n in names for way in trace.of(n, found.processes)]))
    return made


def live(pid: str, system: System) -> Live:
    command = system.read_text("proc/self/cmdline").value or ""
    from doctor.redaction.secrets import variable

    held = {name: variable(name, value) for name, value in (system.environ().value or {}).items()}
    return Live(pid, tuple(command.split("\0")), held)


def rendered(every: Sequence[Traced], name: str, format_: str, process: Live | None) -> str:
    from doctor.report.words import clean

    if format_ == "json":
        ways = [_object(n, way) for one in every for n, way in one.ways]
        made: dict[str, Any] = {"schema": "doctor.env-way/1", "ways": ways}
        made["notes"] = [note for one in every for note in one.found.notes]
        if process is not None:
            made["process"] = {"pid": int(process.pid), "value": process.env.get(name)}
        return json.dumps(made, indent=1) + "\n"
    lines = [line for one in every for line in (_table(one) if name == ALL else _steps(one, name))]
    if process is not None:
        lines += _compared([way for one in every for _, way in one.ways], name, process)
    return "".join(f"{clean(line)}\n" for line in lines)


def _object(name: str, way: Way) -> dict[str, Any]:
    process = way.process
    return {
        "variable": name,
        "program": {"file": process.file, "line": process.line, "command": process.label, "where": process.where},
        "state": way.state,
        "values": list(way.values),
        "steps": [_step(step) for step in way.steps],
        "lost": _step(way.lost) if way.lost else None,
    }


def _step(step: Step) -> dict[str, Any]:
    return {"file": step.file, "line": step.line, "what": step.what}


def _steps(one: Traced, name: str) -> Iterator[str]:
    from doctor.flags.way.trace import summary
    from doctor.report.words import plural

    states = Counter(way.state for _, way in one.ways)
    counts = ", ".join(f"{count} {state}" for state, count in states.most_common())
    yield f"{one.file}: {name} in {plural(len(one.ways), 'program')}{f': {counts}' if counts else ''}"
    for _, way in one.ways:
        where = f" ({way.process.where})" if way.process.where else ""
        yield f"{way.process.file}:{way.process.line}: {way.process.label}{where}"
        yield from (f"    {step.file}:{step.line}: {step.what}" for step in way.steps)
        yield f"    -> {summary(way)}"
    yield from (f"note: {note}" for note in one.found.notes)


def _table(one: Traced) -> Iterator[str]:
    processes = one.found.processes[:12]
    names = list(dict.fromkeys(name for name, _ in one.ways))[:60]
    yield f"{one.file}: {len(names)} variables, {len(one.found.processes)} programs"
    for number, process in enumerate(processes, 1):
        where = f" ({process.where})" if process.where else ""
        yield f"  [{number}] {process.file}:{process.line}: {process.label[:80]}{where}"
    if len(one.found.processes) > len(processes):
        yield f"  … {len(one.found.processes) - len(processes)} more; --format json has them"
    width = max((len(n) for n in names), default=0)
    yield " " * width + "".join(f"  {f'[{n}]':<{_CELL}}" for n in range(1, len(processes) + 1))
    held = {(name, id(way.process)): way for name, way in one.ways}
    for name in names:
        cells = (_cell(held[name, id(process)]) for process in processes)
        yield f"{name:<{width}}" + "".join(f"  {cell[:_CELL]:<{_CELL}}" for cell in cells)
    yield "- not set; ? not known; . as the caller has it; A|B one of them"
    yield from (f"note: {note}" for note in one.found.notes)


def _cell(way: Way) -> str:
    if way.state == "set":
        return way.values[0] or '""'
    if way.state == "maybe":
        outer = any(a.outer in ("any", "set") for a in way.held)
        rest = [] if all(alt.text is not None for alt in way.held) else ["." if outer else "-"]
        return "|".join((*way.values, *rest))
    return {"not set": "-", "not known": "?", "as the caller has it": "."}.get(way.state, "-")


def _compared(ways: Sequence[Way], name: str, process: Live) -> Iterator[str]:
    """What the process has, against what the file says of the program that it looks like."""
    from doctor.flags.way.trace import summary

    has = process.env.get(name)
    yield f"process {process.pid}: {name}{f'={has[:120]}' if has is not None else ' is not set'}"
    like = [way for way in ways if _alike(way.process.label, process.argv)]
    if not like:
        yield "    this process matches no program above"
    for way in like:
        place = f"{way.process.file}:{way.process.line}"
        surely = way.state in ("set", "not set")
        expected = way.values[0] if way.state == "set" else None
        if surely and expected == has:
            yield f"    matches {place}: {summary(way)}"
        elif surely:
            yield f"    differs from {place}: {summary(way)}. The process was started differently, or changed it."
        else:
            yield f"    {place}: {summary(way)}"


def _alike(label: str, argv: tuple[str, ...]) -> bool:
    words = [word.rpartition("/")[2] for word in label.split() if not word.startswith("-")]
    scripts = [w for w in words if w.endswith((".py", ".sh"))] or words[:1]
    names = {word.rpartition("/")[2] for word in argv}
    return bool(scripts) and scripts[0] in names
