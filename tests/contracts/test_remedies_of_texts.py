"""Remedies that replies to people's own words offer: the same promises as on machines, with fewer facts."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path

from doctor.engine.pasted import judge_pasted
from doctor.engine.remedies import lasting
from doctor.findings import Remedy, Report
from doctor.knowledge import Knowledge
from doctor.report.plan import render
from doctor.triage.read import read_pasted

PEOPLE = Path(__file__).parents[2] / "benchmarks" / "triage" / "people.jsonl"
OTHERS = {
    "amd": re.compile(r"^(?:nvidia-|dcgmi|modprobe nvidia)|whl/cu\d|nvidia\.com/gpu"),
    "nvidia": re.compile(r"^(?:rocm-smi|amd-smi|rocminfo|modprobe amdgpu)|whl/rocm|HSA_OVERRIDE|amd\.com/gpu"),
}


@cache
def _reports() -> dict[str, Report]:
    """Of the half that may be read."""
    kb, made = Knowledge(), {}
    for line in PEOPLE.read_text("utf-8").splitlines():
        row = json.loads(line)
        if hashlib.sha256(row["name"].encode()).digest()[0] % 2 == 0:
            made[row["name"]] = judge_pasted(read_pasted([row["text"].encode()]), kb)
    return made


def _remedies() -> list[tuple[str, str, Report, Remedy]]:
    return [(name, f.rule, report, r) for name, report in _reports().items() for f in report.findings
            for r in f.remedies]  # fmt: skip


def test_there_is_something_to_look_at() -> None:
    assert len({rule for _, rule, _, _ in _remedies()}) > 15


def test_no_remedy_names_the_tool_of_a_vendor_that_the_text_does_not_show() -> None:
    wrong = set()
    for name, rule, report, remedy in _remedies():
        vendors = {gpu.vendor for gpu in report.snapshot.gpus or ()} & {"amd", "nvidia"}
        if len(vendors) == 1:
            pattern = OTHERS[str(vendors.pop())]
            lines = [" ".join(step.command) for step in remedy.steps if step.command]
            wrong |= {(name, rule, line) for line in lines if pattern.search(line)}
    assert wrong == set()


def test_what_changes_something_says_how_it_is_undone() -> None:
    silent = {
        (name, rule, remedy.title) for name, rule, _, remedy in _remedies() if lasting(remedy) and not remedy.undo
    }
    assert silent == set()


def test_each_problem_has_a_fix_or_asks_for_more() -> None:
    mute = {
        (name, finding.rule)
        for name, report in _reports().items()
        for finding in report.counted()
        if finding.severity.value != "info" and not finding.remedies and not finding.ask
    }
    assert mute == set()


def test_each_report_makes_a_plan() -> None:
    assert all(render(report).startswith("#!/bin/sh\n") for report in _reports().values())
