"""What the error texts that were seen point to: whether anything fails, and what else may be wrong."""

from __future__ import annotations

from collections.abc import Collection

from doctor.facts.snapshot import Snapshot, Symptom


def failing(machine: Snapshot, leaving_out: Collection[str] = ()) -> bool:
    """Whether an error text points to any cause on this machine."""
    return any(_causes(s, machine) for s in machine.symptoms if s.key not in leaving_out)


def pointing_to(machine: Snapshot, *rules: str, leaving_out: Collection[str] = ()) -> Symptom | None:
    """The first error text that makes one of these causes likely or certain."""
    for symptom in machine.symptoms:
        if symptom.key not in leaving_out and _causes(symptom, machine) & set(rules):
            return symptom
    return None


def _causes(symptom: Symptom, machine: Snapshot) -> set[str]:
    from doctor.triage.templates.catalogue import shared  # only a pasted text has error texts

    return {cause.rule for cause in shared().causes(symptom.key, machine) if cause.sure != "possible"}
