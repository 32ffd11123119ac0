"""A measurement hung, died, ran out of memory or was refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="bench-case-failed",
    severity=Severity.ERROR,
    title="A measurement hung, died, ran out of memory or was refused.",
    needs=({"gemm_proofs"}, {"bench"}),
    proven="live",
    order=61,
    tags=("bench",),
    doc="""
## What it finds
A case that ended its process, was silent past its deadline, took more memory than it may, or that torch refused.

## Why it matters
What hangs or dies in a small case does so in a large program, where nobody sees which step it was.

## Not raised when
The case was left out because this torch or this device has no such operation. A refusal of what only some GPUs have
(FP8, grouped products, FlexAttention) is information.

## How to confirm
Run the case alone: `doctor bench NAME`, and read the end of what it printed.

## Fix
What the message says; a hang or a fault of the GPU is in the kernel's log (`dmesg`).

## Fix safety
Nothing is changed by measuring again.

## References
docs/bench.md
""",
)
FIXES = (Fix(text="Look into the kernel's log for a fault of the GPU at that time.", command=("dmesg", "-T")),)
_NOT_EVERYWHERE = ("scaled_mm", "grouped_mm", "float8", "flex", "compile")
_SAID = {"hung": "hung", "crashed": "ended its process", "out-of-memory": "ran out of memory", "refused": "was refused"}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a case."""
    for proof in machine.gemm_proofs or ():
        if proof.outcome in _SAID:
            yield _finding(f"{proof.entry} {proof.dtype}", proof.key, proof.outcome, proof.detail, machine)
    for measured in machine.bench or ():
        if measured.outcome in _SAID:
            name = f"{measured.what} {measured.dtype} {measured.shape} on {measured.device}"
            yield _finding(name, measured.key, measured.outcome, measured.detail, machine)


def _finding(name: str, key: str, outcome: str, detail: str | None, machine: Snapshot) -> Finding:
    optional = outcome == "refused" and any(word in key for word in _NOT_EVERYWHERE)
    return Finding(
        summary=f"{name} {_SAID[outcome]}.",
        severity=Severity.INFO if optional else Severity.ERROR,
        subject=Subject(kind="case", id=key),
        evidence=(Evidence(text=detail or outcome, source=machine.source("bench" if "@" in key else "gemm_proofs")),),
        fixes=() if outcome == "refused" else FIXES,
    )
