"""The way of one variable in words, and the table of all: variable × process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from doctor.flags.names import described
from doctor.flags.way.model import Held, Process, Step
from doctor.flags.way.run import shown
from doctor.parsers.text.shell_lexer import HOLE
from doctor.redaction.secrets import masked, variable


class Way(NamedTuple):
    """What one process has of one variable. `state`: set, not set, maybe, not known, as the caller (image) has it."""

    process: Process
    state: str
    values: tuple[str, ...]
    """The texts that it may be."""
    steps: tuple[Step, ...]
    held: Held
    lost: Step | None
    """The step that took it away, where it was set before."""


def way(name: str, process: Process) -> Way:
    held = process.sees.of(name)
    texts = tuple(dict.fromkeys(variable(name, shown(a.text)) for a in held if a.text is not None and not a.outer))
    steps = tuple(dict.fromkeys(_masked(step) for alt in held for step in alt.steps))
    gone = (a for a in held if a.text is None and a.outer in ("", "image"))
    lost = next((_masked(a.steps[-1]) for a in gone if len(a.steps) > 1), None)
    return Way(process, _state(held), texts, steps, held, lost)


def _masked(step: Step) -> Step:
    return step._replace(what=masked(shown(step.what)))


_OUTER = {"any": "as the caller has it", "set": "as the caller has it", "image": "as the image has it"}


def _state(held: Held) -> str:
    if any(a.text is not None and HOLE in a.text for a in held):
        return "not known"
    if len(held) > 1:
        return "maybe"
    alt = held[0]
    if alt.outer:
        return _OUTER[alt.outer]
    if alt.text is None:
        return "not set"
    return "set if the caller exports it" if alt.exported == "outer" else "set"


def of(name: str, processes: Iterable[Process]) -> Iterator[Way]:
    for process in processes:
        yield way(name, process)


def names(processes: Iterable[Process]) -> list[str]:
    """The stack's variables that the file says something of."""
    return sorted({name for p in processes for name, held in p.sees.held.items() if described(name) and _said(held)})


def _said(held: Held) -> bool:
    return any(alt.steps for alt in held)


def summary(one: Way) -> str:
    """`INFO`; `not set`; `INFO or 1`; `1, or as the caller has it`; `not known`."""
    values = " or ".join(v or "(empty)" for v in one.values[:4])
    if one.state == "set":
        return values
    if one.state == "maybe":
        unset = any(alt.text is None for alt in one.held)
        return (
            f"{values or 'set'}, or {next((_OUTER[a.outer] for a in one.held if a.outer), 'not set')}"
            if unset
            else values
        )
    if one.state == "as the image has it":
        return "not set, unless the image sets it"
    if one.state == "set if the caller exports it":
        return f"not set, unless the caller exports it: then {values}"
    return one.state
