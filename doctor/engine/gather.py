"""Probes run side by side, each in a forked child; what they send becomes sheets, and the sheets one Snapshot.

A probe that hangs or crashes loses only what it had not sent: `probes.NAME` in the origins says what happened to
it, and the facts that it alone gives are marked with that reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doctor.engine.registry import Probe
from doctor.facts import FactSheet, State, assemble
from doctor.facts.sheet import Entry
from doctor.system import child

if TYPE_CHECKING:
    from doctor.engine.recording import Recording
    from doctor.facts import Snapshot
    from doctor.system.base import System

TOTAL_S = 12.0
"""Seconds for all probes together, so that a report is out within 15."""


@dataclass(frozen=True)
class Gathered:
    """The facts, and a line for each probe that did not end well."""

    machine: Snapshot
    trouble: tuple[str, ...] = ()


def gather(
    system: System,
    probes: Sequence[Probe],
    total_s: float = TOTAL_S,
    record: Recording | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Gathered:
    """Runs the probes; never raises for what they do. `record` takes what they read, also of those that hang;
    `meanwhile` is called once while they run."""
    sheets = {probe.name: FactSheet() for probe in probes}
    if record is not None:
        record.begin(system.kind)

    def on_message(name: str, message: Any) -> None:
        if isinstance(message, dict):
            if record is not None:
                record.take(name, message)
        else:
            _add(sheets[name], message)

    outcomes = child.run_side_by_side(
        [child.Job(probe.name, _work(system, probe, recorded=record is not None)) for probe in probes],
        total_s,
        on_message,
        meanwhile,
    )
    trouble = []
    for probe, outcome in zip(probes, outcomes, strict=True):
        if outcome.state == "finished":
            continue
        state = State.TIMED_OUT if outcome.state == "timed-out" else State.FAILED
        reason = "; ".join([outcome.reason or outcome.state, *map(str, outcome.stuck)])
        trouble.append(f"probe {probe.name}: {reason}")
        for name in (*probe.gives, f"probes.{probe.name}"):
            sheets[probe.name].miss(name, state, f"probe:{probe.name}", reason)
    from doctor.probes.lib.numbering import number  # with the models of the facts, which the children do without

    return Gathered(number(combine(list(sheets.values()))), tuple(trouble))


def _work(system: System, probe: Probe, *, recorded: bool = False) -> Callable[[child.Send], None]:
    def work(send: child.Send) -> None:
        sheet = FactSheet()
        sheet.listener = lambda entry: send([entry.name, entry.value, entry.state.value, entry.source, entry.detail])
        if recorded:
            from doctor.engine.recording import streaming

            probe.run(streaming(system, send), sheet)
        else:
            probe.run(system, sheet)

    return work


def _add(sheet: FactSheet, entry: Sequence[Any]) -> None:
    name, value, state, source, detail = entry
    sheet._add(Entry(name, value, State(state), source, detail))


def combine(sheets: Sequence[FactSheet]) -> Snapshot:
    """`assemble`, but an entry that fits no fact costs only itself: it becomes `failed` under its name."""
    from pydantic import ValidationError

    try:
        return assemble(sheets)
    except (ValidationError, TypeError, AttributeError):  # one probe's bad entry must not cost the report
        return assemble([_fitting(sheet) for sheet in sheets])


def _fitting(sheet: FactSheet) -> FactSheet:
    from pydantic import ValidationError

    kept = FactSheet()
    for entry in sheet:
        alone = FactSheet()
        alone._add(entry)
        try:
            assemble([alone])
        except (ValidationError, TypeError, AttributeError) as error:
            missing_part = isinstance(error, ValidationError) and all(e["type"] == "missing" for e in error.errors())
            if not missing_part:
                kept.miss(entry.name, State.FAILED, entry.source, f"does not fit: {str(error)[:120]}")
                continue
        kept._add(entry)
    return kept
