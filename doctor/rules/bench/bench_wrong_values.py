"""A GPU (or a library on it) computed wrong values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="bench-wrong-values",
    severity=Severity.ERROR,
    title="A GPU (or a library on it) computed wrong values.",
    needs=({"gemm_proofs"}, {"bench"}),
    proven="synthetic",
    order=60,
    tags=("bench",),
    doc="""
## What it finds
A case of `doctor bench` or `doctor blas --prove` whose result is further from a reference in higher precision than
rounding explains.

## Why it matters
Training diverges and answers are wrong, and no error is ever raised.

## Not raised when
The result is within the tolerance of its type, which the case names; or the case did not run.

## How to confirm
Run the same case again, on another GPU, and with the other library.

## Fix
Find out whether one GPU or one library is at fault, then replace that one.

## Fix safety
Nothing is changed by measuring again. Values computed on that GPU are not to be trusted until then.

## References
docs/bench.md
""",
)
FIXES = (Fix(text="Measure again on each GPU; one that differs from the others is at fault, else the library is."),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a case."""
    for proof in machine.gemm_proofs or ():
        if proof.outcome == "wrong":
            name = f"{proof.entry} {proof.dtype}"
            yield _finding(f"{name} on {proof.library or 'an unknown library'}", proof.key, proof.detail, machine)
    for measured in machine.bench or ():
        if measured.outcome == "wrong":
            name = f"{measured.what} {measured.dtype} {measured.shape} on {measured.device}"
            yield _finding(name, measured.key, measured.detail, machine)


def _finding(name: str, key: str, detail: str | None, machine: Snapshot) -> Finding:
    source = machine.source("gemm_proofs" if "@" not in key else "bench")
    return Finding(
        summary=f"Wrong values: {name}.",
        subject=Subject(kind="case", id=key),
        evidence=(Evidence(text=detail or "the values differ from the reference", source=source),),
        fixes=FIXES,
        verify=("doctor", "bench", "--level", "quick"),
    )
