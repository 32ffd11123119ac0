"""The remedies that reports of fake nodes offer, and the plans made of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from doctor.engine.remedies import lasting
from doctor.findings import Remedy, Report
from doctor.report.plan import render
from tests.fakenode.cases import BROKEN, Case
from tests.fakenode.conftest import Reports

pytestmark = pytest.mark.fakenode
OTHERS = {
    "amd": re.compile(r"^(?:nvidia-|dcgmi|modprobe nvidia)|whl/cu\d|nvidia\.com/gpu"),
    "nvidia": re.compile(r"^(?:rocm-smi|amd-smi|rocminfo|modprobe amdgpu)|whl/rocm|HSA_OVERRIDE|amd\.com/gpu"),
}


def _cases(reports: Reports) -> list[Case]:
    """Those that ran: without root, owners can't be set."""
    return [case for case in BROKEN if case.name in reports]


def _remedies(report: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(f["rule"], remedy) for f in report["findings"] for remedy in f["remedies"]]


def _commands(remedy: dict[str, Any]) -> list[tuple[str, ...]]:
    return [tuple(step["command"]) for step in remedy["steps"] if step["command"]]


def test_a_fault_has_a_remedy_that_says_how_it_is_undone(reports: Reports) -> None:
    silent = {
        (case.name, rule, remedy["title"])
        for case in _cases(reports)
        for rule, remedy in _remedies(reports[case.name])
        if lasting(Remedy.model_validate(remedy)) and not remedy["undo"]
    }
    assert silent == set()


def test_no_remedy_names_the_tool_of_a_vendor_that_is_not_here(reports: Reports) -> None:
    wrong = set()
    for case in _cases(reports):
        vendors = {g["vendor"] for g in reports[case.name]["snapshot"].get("gpus") or ()} & {"amd", "nvidia"}
        if len(vendors) == 1:
            pattern = OTHERS[vendors.pop()]
            named = [(rule, " ".join(argv)) for rule, r in _remedies(reports[case.name]) for argv in _commands(r)]
            wrong |= {(case.name, rule, line) for rule, line in named if pattern.search(line)}
    assert wrong == set()


def test_each_report_makes_a_plan(reports: Reports) -> None:
    for case in _cases(reports):
        script = render(Report.model_validate(reports[case.name]))
        assert script.startswith("#!/bin/sh\n")
        assert script.count("systemctl reboot") <= 1 + script.count("# systemctl reboot")
