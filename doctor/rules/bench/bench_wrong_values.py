"""A GPU (or a library on it) computed wrong values."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="bench-wrong-values",
    severity=Severity.ERROR,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
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
Training diverges and answers are wrong, without any error.

## Not raised when
The result is within the tolerance of its type, which the case names; or the case did not run.

## How to confirm
Run the same case again, on another GPU, and with the other library.

## Fix
Find out whether one GPU or one library is faulty, then replace it.

## Fix safety
Measuring again changes nothing. Do not trust values from that GPU until then.

## References
docs/bench.md
""",
)
REMEDIES = (
    way(
        "Find out whether one GPU or the library gives the wrong values.",
        Scope.JOB,
        step("Measure again on each GPU (cuda:0, cuda:1 …).", "doctor", "bench", "gemm", "--device", "cuda:0"),
        step("If one GPU differs from the others, drain the node and have that GPU replaced."),
        step("If all give the same wrong values, update torch or the BLAS library, and report it."),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for proof in machine.gemm_proofs or ():
        if proof.outcome == "wrong":
            name = proof.key.replace("/", " ")
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
        remedies=REMEDIES,
        verify=("doctor", "bench", "--level", "quick"),
    )
