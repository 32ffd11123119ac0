"""The remedies that reports of fake nodes offer, and the plans made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.findings import Report
from tests.contracts.promises import broken, unclean
from tests.fakenode.cases import BROKEN
from tests.fakenode.conftest import Reports

pytestmark = pytest.mark.fakenode


def _judged(reports: Reports) -> dict[str, Report]:
    """Those that ran: without root, owners can't be set."""
    return {case.name: Report.model_validate(reports[case.name]) for case in BROKEN if case.name in reports}


def test_each_fault_keeps_the_promises(reports: Reports) -> None:
    assert {(name, *row) for name, report in _judged(reports).items() for row in broken(report)} == set()


def test_each_plan_is_clean(reports: Reports, tmp_path: Path) -> None:
    assert unclean(_judged(reports).values(), tmp_path) == ""
