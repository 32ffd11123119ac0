"""Variables that a script of the text, or a process above the one that is checked, sets and does not pass on."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.process import LostVariable
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Remedy, Severity, Subject

_SESSIONS = ("sudo", "su-login", "env-i", "container", "ssh", "systemd-run")


def found(machine: Snapshot, *, session: bool) -> Iterator[Finding]:
    """One finding for what is lost at one place; `session`: what a container, a service or another account lacks."""
    places: dict[tuple[str, str], list[LostVariable]] = {}
    for each in machine.lost_variables or ():
        if (each.step in _SESSIONS or each.step.startswith("unit-")) == session:
            places.setdefault((each.step, each.shown[-1].partition(": ")[0]), []).append(each)
    for first, *rest in places.values():
        shown = (*first.shown, *(each.shown[0] for each in rest))
        pasted = first.shown[0].startswith("text:")
        also = f" The same holds for {', '.join(each.name for each in rest)}." if rest else ""
        yield Finding(
            summary=first.summary + also,
            severity=Severity.WARNING,
            subject=Subject(kind="variable", id=first.name),
            evidence=tuple(Evidence(text=text, source=at) for at, _, text in (s.partition(": ") for s in shown)),
            ask="`tr '\\0' '\\n' < /proc/PID/environ` of the program" if pasted else None,
            remedies=(Remedy.by_hand(first.cure),),
        )
