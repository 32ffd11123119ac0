"""A measurement hung, crashed, ran out of memory or was refused."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import looks
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="bench-case-failed",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    title="A measurement hung, crashed, ran out of memory or was refused.",
    needs=({"gemm_proofs"}, {"bench"}),
    proven="live",
    order=61,
    tags=("bench",),
    doc="""
## What it finds
A case that crashed, ran past its deadline, used too much memory, or that torch refused.

## Why it matters
What hangs or crashes in a small case also does in a large program, where the step is hard to find.

## Not raised when
The case was skipped because this torch or device lacks the operation. If torch refuses what only some GPUs have (FP8,
FP4, grouped products, FlexAttention), it is information.

## How to confirm
Run the case alone: `doctor bench NAME`, and read the end of what it printed.

## Fix
Follow the message; the kernel log (`dmesg`) shows a GPU hang or fault.

## Fix safety
Measuring again changes nothing.

## References
docs/bench.md
""",
)
REMEDIES = (looks("Read the kernel log for a GPU fault at that time.", "journalctl", "-k", "-b", root=True),)
_NOT_EVERYWHERE = ("scaled_mm", "grouped_mm", "float8", "float4", "l2", "flex", "compile")
_SAID = {"hung": "hung", "crashed": "crashed", "out-of-memory": "ran out of memory", "refused": "was refused"}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for proof in machine.gemm_proofs or ():
        if proof.outcome in _SAID:
            yield _finding(proof.key.replace("/", " "), proof.key, proof.outcome, proof.detail, machine)
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
        remedies=() if outcome == "refused" else REMEDIES,
    )
