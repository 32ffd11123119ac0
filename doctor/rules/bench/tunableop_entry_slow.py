"""A TunableOp result is slower than what torch takes without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="tunableop-entry-slow",
    severity=Severity.WARNING,
    title="A TunableOp result is slower than what torch takes without it.",
    needs=({"tuned"},),
    proven="synthetic",
    order=74,
    tags=("bench", "blas"),
    doc="""
## What it finds
An entry of TunableOp's results that, measured again beside the default, takes longer: the whole interval of the paired
ratio lies above 1.03. Or one whose values are wrong.

## Why it matters
Tuning picks the winner of a few runs on a warm cache; a stale or a lucky pick costs time in each step.

## Not raised when
The interval reaches down to 1.03, or the entry was not measured.

## How to confirm
`doctor bench tune --results FILE`.

## Fix
Leave the entry out, or tune again.

## Fix safety
The file is read at the start of a program only.

## References
https://docs.pytorch.org/docs/stable/cuda.tunable.html
""",
)
FIXES = (Fix(text="Tune again, and compare: doctor bench tune.", command=("doctor", "bench", "tune")),)
LIMIT = 1.03
"""Below that, two measurements of one kernel differ too."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding an entry."""
    for entry in machine.tuned or ():
        slow = entry.ratio is not None and entry.ratio.low > LIMIT
        if not slow and not entry.detail:
            continue
        said = (
            "has wrong values"
            if entry.detail
            else f"takes {entry.ratio.p50 if entry.ratio else 0:.2f} times the default"
        )
        shown = entry.detail or (f"{entry.ratio.low:.3f} to {entry.ratio.high:.3f}" if entry.ratio else "-")
        yield Finding(
            summary=f"TunableOp's entry for {entry.key} {said}.",
            severity=Severity.ERROR if entry.detail else Severity.WARNING,
            subject=Subject(kind="entry", id=entry.key),
            evidence=(Evidence(text=shown, source=entry.file),),
            fixes=FIXES,
        )
