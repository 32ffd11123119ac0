"""A TunableOp result is slower than torch's default."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import looks
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="tunableop-entry-slow",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    title="A TunableOp result is slower than torch's default.",
    needs=({"tuned"},),
    proven="synthetic",
    order=74,
    tags=("bench", "blas"),
    doc="""
## What it finds
An entry of TunableOp's results that, measured again beside the default, takes longer: the whole interval of the
paired ratio is above 1.03. Or one whose values are wrong.

## Why it matters
Tuning picks the winner of a few runs on a warm cache; a stale or lucky pick slows each step.

## Not raised when
The interval reaches down to 1.03, or the entry was not measured.

## How to confirm
`doctor bench tune --results FILE`.

## Fix
Remove the entry, or tune again.

## Fix safety
Programs read the file only when they start.

## References
https://docs.pytorch.org/docs/stable/cuda.tunable.html
""",
)
REMEDIES = (looks("Tune again into a new file, then compare.", "doctor", "bench", "tune", where="environment"),)
LIMIT = 1.03
"""Below that, two measurements of one kernel differ too."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for entry in machine.tuned or ():
        slow = entry.ratio is not None and entry.ratio.firm and entry.ratio.low > LIMIT
        if not slow and not entry.detail:
            continue
        slower = (
            "has wrong values"
            if entry.detail
            else f"takes {entry.ratio.p50 if entry.ratio else 0:.2f} times the default"
        )
        shown = entry.detail or (f"{entry.ratio.low:.3f} to {entry.ratio.high:.3f}" if entry.ratio else "-")
        yield Finding(
            summary=f"TunableOp's entry for {entry.key} {slower}.",
            severity=Severity.ERROR if entry.detail else Severity.WARNING,
            subject=Subject(kind="entry", id=entry.key),
            evidence=(Evidence(text=shown, source=entry.file),),
            remedies=REMEDIES,
        )
