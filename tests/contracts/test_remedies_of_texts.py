"""Remedies that replies to people's own words offer: the same promises as on machines, with fewer facts."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from doctor.engine.pasted import judge_pasted
from doctor.findings import Remedy, Report
from doctor.knowledge import Knowledge
from doctor.triage.read import read_pasted
from tests.contracts.promises import broken, unclean

PEOPLE = Path(__file__).parents[2] / "benchmarks" / "triage" / "people.jsonl"


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


def test_each_reply_keeps_the_promises() -> None:
    assert {(name, *row) for name, report in _reports().items() for row in broken(report)} == set()


def test_each_plan_is_clean(tmp_path: Path) -> None:
    assert unclean(_reports().values(), tmp_path) == ""
