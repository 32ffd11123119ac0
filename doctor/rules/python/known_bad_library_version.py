from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.library_release import known_faults
from doctor.rules.lib.python_packages import pip_install

RULE = Rule(
    id="known-bad-library-version",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="An installed release of a GPU library has a known bug.",
    needs=(),
    proven="synthetic",
    order=45,
    tags=("python",),
    doc="""## What it finds
A release of ROCm, cuDNN, cuBLAS, NCCL or another GPU library with a documented bug on this kind of GPU, from a table
of known bugs and from their error messages.

## Why it matters
Wrong results, hangs or crashes that no setting fixes.

## Not raised when
A release, GPU or package that the row needs is not known. Without a symptom of the bug, the release is only
information. A crash alone does not count.

## How to confirm
`python -m pip list | grep nvidia`

## Fix
Install a release without the bug.

## References
https://docs.nvidia.com/deeplearning/nccl/release-notes/index.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error text says it: PACKAGE is the one that it names."""
    return (
        pip_install(
            machine,
            "Install the next release of the library that fails (PACKAGE); its release notes name the error.",
            "--upgrade",
            "PACKAGE",
        ),
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The table of known faults; other releases are named by error texts only. One sign is of one fault: of several
    that it may be, the one with most evidence is a finding, the others are remarks."""
    found = list(known_faults(machine, RULE.id))
    loud = [f for f in found if f.severity is not Severity.INFO or f.suspect]
    worst = max(loud, key=lambda f: (f.severity is not Severity.INFO, f.suspect, len(f.evidence)), default=None)
    for finding in found:
        quiet = finding is not worst and finding in loud
        yield finding.model_copy(update={"severity": Severity.INFO, "suspect": 0}) if quiet else finding
