"""What a line shows, and what a text is told: for the tests of the catalogue of symptoms."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.findings import Finding, Severity
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text
from doctor.triage.templates.catalogue import shared

SYMPTOMS = shared()
KB = Knowledge()


def keys(line: str) -> set[str]:
    """Symptoms that the line shows."""
    return {hit.key for hit in SYMPTOMS.find([(7, line)])}


def raised(text: str) -> list[str]:
    """Causes that are errors or warnings, the first first."""
    return [finding.rule for finding in _loud(text)]


def told(text: str) -> list[str]:
    """The same without what is suspected from mere words."""
    return [f.rule for f in _loud(text) if not f.summary.startswith("Suspected from the words")]


def certain(text: str) -> set[str]:
    """Causes to which an error text points with certainty: as loud as a text alone may be, and an error with facts."""
    machine = read_text([text.encode()])
    causes = (cause for symptom in machine.symptoms for cause in SYMPTOMS.causes(symptom.key, machine))
    return {cause.rule for cause in causes if cause.sure == "certain"}


def _loud(text: str) -> list[Finding]:
    findings = judge(read_text([text.encode()]), KB).findings
    return [f for f in findings if f.severity is not Severity.INFO and not f.explained_by]
