"""An expectation of the profile that no rule owns is not met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile
    from doctor.profiles.expectation import Expectation

RULE = Rule(
    id="profile-expectation-unmet",
    severity=Severity.WARNING,
    title="An expectation of the profile that no rule owns is not met.",
    needs=({"profile"},),
    proven="synthetic",
    order=80,
    tags=("profile",),
    doc="""## What it finds
A fact differs from what the chosen profile expects of it; or the profile that was named is for other GPUs.

## Why it matters
The stack is not the one that the profile's numbers and image were made for.

## Not raised when
No profile was named or matched; the fact is not known; the expectation is for other machines (`when`); another
finding already speaks of the fact; or the profile was matched and not named, and the fact is of the stack: another
stack is no fault then, and the verdict alone tells of it.

## How to confirm
`doctor check --profile NAME --format json`: profile.deviates.

## Fix
Bring the fact to what the profile says, or choose the profile that fits.

## Fix safety
Depends on the expectation; its `why` stands in the profile.

## References
docs/profiles.md
""",
)

FIXES = (Fix(text="Bring the machine to what the profile expects, or choose another profile."),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding an expectation, however many GPUs do not meet it. The engine leaves out those that a rule owns."""
    if profile is not None:
        yield from _other_hardware(machine, profile)
    for expectation in profile.for_machine(machine).expect if profile else ():
        if profile is None or profile.is_silent(expectation) or profile.answer(expectation, machine) != "deviates":
            continue
        unmet = expectation.unmet(machine, profile.covered(machine))
        yield Finding(
            summary=f"{expectation.fact} should be {expectation.wants}; it is {expectation.said(unmet[0][1])}.",
            severity=Severity(expectation.severity or RULE.severity),
            subject=Subject(kind="fact", id=expectation.fact),
            evidence=evidence(machine, [name for name, _ in unmet[:8]]),
            fixes=(Fix(text=f"Bring it to {expectation.wants}, or name another profile. {_because(expectation)}"),),
            source=expectation.source.url,
        )


def _because(expectation: Expectation) -> str:
    return f"{expectation.why} ({expectation.status}, {expectation.source.as_of})"


def _other_hardware(machine: Snapshot, profile: Profile) -> Iterator[Finding]:
    """A profile that was named for a machine with other GPUs: its numbers and bounds are not those of this one."""
    from doctor.profiles.matching import misfit
    from doctor.profiles.model import considered

    gpus = considered(machine)
    other = misfit(profile.hardware, gpus) if gpus else None
    if other is not None and other.certain:
        yield Finding(
            summary=f"The profile {profile.name} is for other hardware: {other.reason}.",
            severity=RULE.severity,
            subject=Subject(kind="profile", id=profile.name),
            evidence=evidence(machine, [f"gpus[{gpus[0].key}].{fact}" for fact in ("pci_id", "name", "arch")]),
            fixes=(Fix(text="Choose the profile of this hardware.", command=("doctor", "profiles", "match")),),
        )
