"""The promises of remedies and plans, kept for every captured machine and every ticket of the field."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from doctor.engine.pasted import judge_pasted
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.triage.read import read_pasted
from tests.captures_read import judged, of_tree
from tests.contracts.promises import broken, unclean
from tests.machines.expected import TEXTS, TREES
from tests.paths import FIELD, needs_shared

pytestmark = [needs_shared, pytest.mark.slow]


@cache
def _reports() -> dict[str, Report]:
    kb = Knowledge()
    machines = {f"{row.machine}/{row.file}": row for row in (*TREES, *TEXTS)}
    made = {name: of_tree(row.machine) if row.file == "tree" else judged(name) for name, row in machines.items()}
    tickets = sorted((FIELD / "dev" / "tickets").iterdir())
    return made | {ticket.name: judge_pasted(read_pasted([ticket.read_bytes()]), kb) for ticket in tickets}


def test_each_report_keeps_the_promises() -> None:
    assert len(_reports()) > 200
    assert {(name, *row) for name, report in _reports().items() for row in broken(report)} == set()


def test_each_plan_is_clean(tmp_path: Path) -> None:
    assert unclean(_reports().values(), tmp_path) == ""
