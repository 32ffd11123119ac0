"""SARIF, JUnit, GitHub and Prometheus: read by programs that others wrote, and no value gets out of its place."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from prometheus_client.parser import text_string_to_metric_families
from sarif.sarif_file import SarifFile

from doctor.engine.registry import checks
from doctor.findings import Evidence, Report
from doctor.report.formats import render
from tests.report.example import HOSTILE, report

RULES = tuple(check.rule for check in checks())


def sarif(said: Report) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(render("sarif", said, lambda: RULES))["runs"][0]
    return run


def junit(said: Report) -> JUnitXml:
    return JUnitXml.fromroot(JUnitXml.fromstring(render("junit", said).encode())._elem)


def series(said: Report) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(render("prometheus", said))
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}


def test_sarif_has_a_result_a_finding_with_its_fingerprint_and_rule() -> None:
    run = sarif(report())
    first = run["results"][0]
    assert (first["ruleId"], first["level"]) == ("device-node-permission", "error")
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "device-node-permission"
    assert first["partialFingerprints"] == {"doctor/v1": "1" * 16, "primaryLocationLineHash": "1" * 16 + ":1"}


def test_sarif_has_what_github_documents_as_required() -> None:
    """docs.github.com, "SARIF support for code scanning" and "SARIF results exceed limits", as of 2026-11-23."""
    for said in (report(), report(HOSTILE), Report(doctor="0", status="unknown")):
        run = sarif(said)
        assert len(run["results"]) <= 25_000
        for rule in run["tool"]["driver"]["rules"]:
            assert len(rule["id"]) <= 255
            assert len(rule["shortDescription"]["text"]) <= 1024
            assert rule["fullDescription"]["text"]
            assert rule["help"]["text"]
            assert len(rule.get("properties", {}).get("tags", ())) <= 10
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["partialFingerprints"]["primaryLocationLineHash"]
            (location,) = result["locations"]
            place = location["physicalLocation"]
            assert place["region"]["startLine"] >= 1
            assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", place["artifactLocation"]["uri"])
            assert ".." not in place["artifactLocation"]["uri"].split("/")


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("file:/etc/docker/daemon.json", ("etc/docker/daemon.json", "MACHINE", 1)),
        ("file:/proc/cmdline:3", ("proc/cmdline", "MACHINE", 3)),
        ("file:/sys/class/drm/card*/device", ("doctor/node/dev/kfd", None, 1)),
        ("command:nvidia-smi", ("doctor/node/dev/kfd", None, 1)),
        ("text:7", ("doctor/pasted-text", None, 7)),
    ],
)
def test_sarif_points_to_the_file_of_the_evidence(source: str, place: tuple[str, str | None, int]) -> None:
    said = report()
    cause = said.findings[0].model_copy(update={"evidence": (Evidence(text="x", source=source),)})
    found = sarif(said.model_copy(update={"findings": (cause,)}))["results"][0]["locations"][0]["physicalLocation"]
    artifact = found["artifactLocation"]
    assert (artifact["uri"], artifact.get("uriBaseId"), found["region"]["startLine"]) == place


def test_a_stream_has_one_object_a_line() -> None:
    text = render("jsonl", report(HOSTILE))
    assert text.count("\n") == 1
    assert json.loads(text)["schema"] == "doctor.report/2"


def test_sarif_is_counted_by_severity_by_another_program() -> None:
    read = SarifFile(
        "report.sarif", json.loads(render("sarif", report(), lambda: RULES)), mtime=datetime.now(timezone.utc)
    )
    assert read.get_report().get_issue_count_for_severity("error") == 1
    assert read.get_distinct_tool_names() == ["doctor"]


def test_sarif_keeps_what_the_user_allows_as_suppressed() -> None:
    suppressed = [r["ruleId"] for r in sarif(report())["results"] if r.get("suppressions")]
    assert suppressed == [s.rule for s in report().suppressed]


@pytest.mark.slow
def test_microsofts_validator_finds_no_error(tmp_path: Path) -> None:
    """Their multitool comes as a package of npm, with the schema; a warning that the tool has no home page stays."""
    if not shutil.which("npm"):
        pytest.skip("no npm")
    package = "@microsoft/sarif-multitool-linux"
    subprocess.run(["npm", "install", "--silent", "--prefix", str(tmp_path), package], check=True, timeout=600)
    tool = tmp_path / "node_modules" / package / "Sarif.Multitool"
    tool.chmod(0o755)
    (tmp_path / "report.sarif").write_text(render("sarif", report(), lambda: RULES))
    env = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    argv = [str(tool), "validate", str(tmp_path / "report.sarif")]
    said = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120)
    assert said.returncode == 0
    assert ": error" not in said.stdout
    assert "Analysis completed successfully" in said.stdout
    schema = json.loads((tool.parent / "sarif-2.1.0.json").read_text(encoding="utf-8-sig"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    for made in (report(), report(HOSTILE), Report(doctor="0", status="unknown")):
        assert not list(validator.iter_errors(json.loads(render("sarif", made, lambda: RULES))))


@pytest.mark.slow
def test_junit_is_what_the_schema_of_jenkins_takes(tmp_path: Path) -> None:
    """The schema of Jenkins' plugin for test results, as the source package of pytest carries it for its own output."""
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    argv = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        "pytest",
        "-d",
        str(tmp_path),
        "pytest",
    ]
    subprocess.run(argv, check=True, timeout=300)
    with tarfile.open(next(tmp_path.glob("pytest-*.tar.gz"))) as package:
        held = package.extractfile(next(m for m in package.getmembers() if m.name.endswith("junit-10.xsd")))
        assert held
        schema = etree.XMLSchema(etree.fromstring(held.read()))
    for said in (report(), report(HOSTILE), Report(doctor="0", status="unknown")):
        schema.assertValid(etree.fromstring(render("junit", said).encode()))
    with pytest.raises(etree.DocumentInvalid):
        schema.assertValid(etree.fromstring(render("junit", report()).replace("testcase", "case").encode()))


def test_junit_fails_for_problems_and_skips_what_could_not_be_told() -> None:
    cases = [case for suite in junit(report()) for case in suite]
    of = {case.name: [type(outcome) for outcome in case.result] for case in cases}
    assert of["device-node-permission [/dev/kfd]"] == [Failure]
    assert of["torch-sees-no-gpu"] == []  # its cause is what failed
    assert {Skipped} <= {kind for outcomes in of.values() for kind in outcomes}
    crashed = {u.rule for u in report().unchecked if u.crashed}
    assert {name for name, outcomes in of.items() if outcomes == [Error]} == crashed


def test_junit_of_a_machine_that_could_not_be_judged_is_not_a_pass() -> None:
    cases = [case for suite in junit(Report(doctor="0", status="unknown")) for case in suite]
    assert [(case.name, [type(outcome) for outcome in case.result]) for case in cases] == [("status", [Skipped])]


def test_github_annotations_are_one_line_each() -> None:
    rows = render("github", report()).splitlines()
    assert rows[0].startswith("::error title=device-node-permission::This account may not open /dev/kfd")
    assert all(re.fullmatch(r"::(error|warning|notice) title=[^:,]+::.*", row) for row in rows)


def test_prometheus_tells_the_verdict_and_each_finding() -> None:
    found = series(report())
    assert found["doctor_status", (("status", "error"),)] == 1
    subject = {"action": "inform", "basis": "facts", "rule": "device-node-permission", "scope": "host"}
    labels = tuple(sorted({**subject, "severity": "error", "subject": "/dev/kfd"}.items()))
    assert found["doctor_finding", labels] == 1
    assert found["doctor_problems", (("scope", "host"), ("severity", "error"))] == 1
    assert found["doctor_problems", (("scope", "hardware"), ("severity", "error"))] == 0
    assert found["doctor_drain", ()] == 0
    assert found["doctor_gpus", (("vendor", "amd"),)] == 8


@pytest.mark.parametrize("name", ["sarif", "junit", "github", "prometheus"])
def test_a_secret_reaches_no_format(name: str) -> None:
    assert "hf_aaaa" not in render(name, report(HOSTILE), lambda: RULES)


@given(st.text(alphabet=st.characters(), max_size=60))
def test_any_text_stays_in_its_place(text: str) -> None:
    said = report(text or "-")
    assert len(sarif(said)["results"]) == len(said.findings) + len(said.suppressed)
    assert sum(1 for suite in junit(said) for _ in suite) > 2
    assert len(render("github", said).splitlines()) == len([f for f in said.findings if not f.explained_by])
    assert series(said)["doctor_status", (("status", "error"),)] == 1
    io.StringIO().write(render("github", said))
