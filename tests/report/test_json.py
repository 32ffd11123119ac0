"""The published schema is current, reports validate, and what leaves is redacted."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from doctor.facts import Snapshot
from doctor.facts.python import Package
from doctor.findings import Finding, Report, Subject
from doctor.report.formats.json import as_data, render, schema
from tests.report.example import report

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"


def test_the_published_schema_is_current() -> None:
    """`python -m doctor.report.formats.json > docs/report.schema.json` makes it so."""
    assert json.loads(SCHEMA.read_text()) == schema()


def test_reports_validate() -> None:
    for each in (report(), Report(doctor="0", status="unknown", snapshot=Snapshot())):
        jsonschema.validate(as_data(each), json.loads(SCHEMA.read_text()))


def test_names_and_secrets_do_not_leave() -> None:
    text = render(report())
    assert not [word for word in ("alice77", "plainword", "hf_aaa") if word in text]
    assert "alice77" in render(report(), unredacted=True)


def test_redaction_keeps_rules_and_fingerprints() -> None:
    kept, whole = as_data(report()), as_data(report(), unredacted=True)
    for one, other in zip(kept["findings"], whole["findings"], strict=True):
        assert (one["rule"], one["fingerprint"]) == (other["rule"], other["fingerprint"])


def test_names_of_packages_and_of_what_they_require_are_kept() -> None:
    machine = Snapshot(packages=(Package(name="torch", version="2.9.1", requires=("blorptools>=3.0",)),))
    subject = Subject(kind="package", id="torch not-installed blorptools")
    finding = Finding(rule="python-install-damaged", summary="blorptools is missing.", subject=subject)
    shown = as_data(Report(doctor="0", status="warning", findings=(finding,), snapshot=machine))
    assert shown["findings"][0]["subject"]["id"] == subject.id
    unknown = as_data(Report(doctor="0", status="warning", findings=(finding,), snapshot=Snapshot()))
    assert "blorptools" not in unknown["findings"][0]["subject"]["id"]


def test_no_raw_control_characters() -> None:
    assert "\x1b" not in render(report())
