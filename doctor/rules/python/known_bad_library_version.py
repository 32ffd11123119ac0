"""A release of a GPU library with a known fault is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.rules.library_release import known_faults

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="known-bad-library-version",
    severity=Severity.WARNING,
    title="A release of a GPU library with a known fault is installed.",
    needs=(),
    proven="synthetic",
    order=45,
    tags=("python",),
    doc="""## What it finds
A release of ROCm, cuDNN, cuBLAS, NCCL or another GPU library for which a fault is documented on this kind of GPU, from
a table of known faults and from error texts that are theirs.

## Why it matters
Wrong results, hangs or crashes that no setting mends.

## Not raised when
A release, GPU or package that the row asks for is not known. Where nothing that the fault shows was seen, the release
is a remark only. A crash alone accuses no library.

## How to confirm
`python -m pip list | grep nvidia`

## Fix
Install a release without the fault.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://docs.nvidia.com/deeplearning/nccl/release-notes/index.html
""",
)

FIXES = (
    Fix(
        text="Try the next release of the library that fails, and search its release notes for the error.",
        where="environment",
    ),
)


_CALLS = ("cublas-or-cudnn-call-failed", "cudnn-finds-no-engine")


def unheard(machine: Snapshot) -> bool:
    """Where XLA dropped a kernel whose results were not those of the others, and what it took instead works; where
    cuDNN refuses more elements than 32 bits count, which no release of it takes."""
    if machine.symptom("xla-drops-kernel-told") is not None and machine.symptom("something-works-told") is not None:
        return True
    refused = any("NOT_SUPPORTED" in s.text for s in machine.symptoms if s.key in _CALLS)
    return refused and machine.symptom("elements-past-32-bits-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The table of known faults; other releases are named by error texts only. One sign is of one fault: of several
    that it may be, the one that rests on most is told, and the others are remarks."""
    found = list(known_faults(machine, RULE.id))
    loud = [f for f in found if f.severity is not Severity.INFO or f.suspect]
    told = max(loud, key=lambda f: (f.severity is not Severity.INFO, f.suspect, len(f.evidence)), default=None)
    for finding in found:
        quiet = finding is not told and finding in loud
        yield finding.model_copy(update={"severity": Severity.INFO, "suspect": 0}) if quiet else finding
