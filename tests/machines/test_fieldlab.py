"""The captured machines of the field, judged: what is true is found, what only looks bad is not."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from doctor.engine.judge import judge
from doctor.engine.run import Options, examine
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.system.tree import TreeSystem
from doctor.triage.read import read_text
from tests.live.trees import lay_out
from tests.machines.expected import LARGE_TREES, PITFALLS, TEXTS, TOLD, TREES, Row
from tests.paths import FIELDLAB, needs_shared

pytestmark = needs_shared


@lru_cache(maxsize=200)
def of_text(machine: str, file: str) -> Report:
    return judge(read_text([(FIELDLAB / machine / file).read_bytes()]), Knowledge())


def report(machine: str, file: str, folder: Path) -> Report:
    if file != "tree":
        return of_text(machine, file)
    return examine(TreeSystem(lay_out(machine, folder)), Options())


def loud(told: Report) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (f.rule, f.severity.value, f.subject.id) for f in told.findings if f.severity.value in ("error", "warning")
    )


def holds(row: Row, folder: Path) -> None:
    told = report(row.machine, row.file, folder)
    gpus = told.snapshot.gpus
    assert (None if gpus is None else len(gpus)) == row.gpus
    assert loud(told) == row.loud
    assert not [u for u in told.unchecked if u.crashed]


@pytest.mark.parametrize("row", [*TREES, *TEXTS], ids=str)
def test_each_machine_has_the_findings_that_were_read_by_eye_and_no_other(row: Row, tmp_path: Path) -> None:
    holds(row, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("row", LARGE_TREES, ids=str)
def test_so_has_each_large_tree(row: Row, tmp_path: Path) -> None:
    holds(row, tmp_path)


@pytest.mark.parametrize(("machine", "file", "rule"), PITFALLS)
def test_what_looks_bad_and_is_not_stays_silent(machine: str, file: str, rule: str, tmp_path: Path) -> None:
    assert rule not in {f.rule for f in report(machine, file, tmp_path).findings}


@pytest.mark.parametrize(("machine", "file", "rule"), TOLD)
def test_what_is_worth_knowing_is_told_as_information(machine: str, file: str, rule: str, tmp_path: Path) -> None:
    found = {(f.rule, f.severity.value) for f in report(machine, file, tmp_path).findings}
    assert (rule, "info") in found


def test_forty_machines_and_more_are_held() -> None:
    held = {row.machine.partition("/")[0] for row in (*TREES, *LARGE_TREES, *TEXTS)}
    assert len(held) >= 70
