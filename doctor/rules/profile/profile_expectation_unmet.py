from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.labels import label
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import by_hand, looks
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="profile-expectation-unmet",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.INFORM,
    title="A profile expectation is not met.",
    needs=({"profile"},),
    proven="synthetic",
    order=80,
    tags=("profile",),
    doc="""## What it finds
A fact differs from what the chosen profile expects, or the named profile is for other GPUs.

## Why it matters
The profile's numbers and image are for another stack.

## Not raised when
No profile was named or matched; the fact is not known; the expectation is for other machines (`when`); another
finding already covers the fact; or the profile was matched and not named, and the expectation is information or about
the stack: only the verdict mentions it then.

## How to confirm
`doctor check --profile NAME --format json`: profile.deviates.

## Fix
Change the fact to the profile's value, or choose a profile that matches.

## Fix safety
Depends on the expectation; the profile gives the reason in `why`.

## References
docs/profiles.md
""",
)

REMEDIES = (looks("Show the profiles that fit this machine.", "doctor", "profiles", "match", where="environment"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding an expectation, however many GPUs do not meet it. The engine leaves out those that a rule owns."""
    if profile is not None:
        yield from _other_hardware(machine, profile)
    for expectation in profile.for_machine(machine).expect if profile else ():
        if profile is None or profile.is_silent(expectation) or profile.answer(expectation, machine) != "deviates":
            continue
        unmet = expectation.unmet(machine, profile.covered(machine))
        yield Finding(
            summary=f"Profile {profile.name} expects {label(expectation.fact)} {expectation.wants}; "
            f"it is {expectation.shown(unmet[0][1])}.",
            severity=Severity(expectation.severity or RULE.severity),
            subject=Subject(kind="fact", id=expectation.fact),
            evidence=evidence(machine, [name for name, _ in unmet[:8]]),
            remedies=(
                by_hand(
                    f"Set {label(expectation.fact)} as expected: {expectation.wants}.",
                    Scope.HOST,
                    expectation.why,
                    undo="Set the old value again.",
                ),
                *REMEDIES,
            ),
            source=expectation.source.url,
        )


def _other_hardware(machine: Snapshot, profile: Profile) -> Iterator[Finding]:
    """A profile that was named for a machine with other GPUs: its numbers and bounds are not those of this one."""
    from doctor.profiles.matching import misfit
    from doctor.profiles.model import considered

    gpus = considered(machine)
    other = misfit(profile.hardware, gpus) if gpus else None
    if other is not None and other.certain:
        yield Finding(
            summary=f"Profile {profile.name} is for other hardware: {other.reason}.",
            severity=RULE.severity,
            subject=Subject(kind="profile", id=profile.name),
            evidence=evidence(machine, [f"gpus[{gpus[0].key}].{fact}" for fact in ("pci_id", "name", "arch")]),
            remedies=REMEDIES,
        )
