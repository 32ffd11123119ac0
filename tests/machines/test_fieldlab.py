"""The captured machines of the field, judged: what is true is found, what only looks bad is not."""

from __future__ import annotations

import pytest

from doctor.findings import Report
from tests.captures_read import judged, of_tree
from tests.each import each
from tests.machines.expected import LARGE_TREES, PITFALLS, TEXTS, TOLD, TREES, Row
from tests.paths import needs_shared

pytestmark = needs_shared


def report(machine: str, file: str) -> Report:
    return of_tree(machine) if file == "tree" else judged(f"{machine}/{file}")


def loud(told: Report) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (f.rule, f.severity.value, f.subject.id) for f in told.findings if f.severity.value in ("error", "warning")
    )


def holds(row: Row) -> None:
    told = report(row.machine, row.file)
    gpus = told.snapshot.gpus
    assert (None if gpus is None else len(gpus)) == row.gpus
    assert loud(told) == row.loud
    assert not [u for u in told.unchecked if u.crashed]


@each("row", [*TREES, *TEXTS])
def test_each_machine_has_the_findings_that_were_read_by_eye_and_no_other(row: Row) -> None:
    holds(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", LARGE_TREES, ids=str)
def test_so_has_each_large_tree(row: Row) -> None:
    holds(row)


@each("machine, file, rule", PITFALLS)
def test_what_looks_bad_and_is_not_stays_silent(machine: str, file: str, rule: str) -> None:
    assert rule not in {f.rule for f in report(machine, file).findings}


@each("machine, file, rule", TOLD)
def test_what_is_worth_knowing_is_told_as_information(machine: str, file: str, rule: str) -> None:
    found = {(f.rule, f.severity.value) for f in report(machine, file).findings}
    assert (rule, "info") in found


def test_forty_machines_and_more_are_held() -> None:
    held = {row.machine.partition("/")[0] for row in (*TREES, *LARGE_TREES, *TEXTS)}
    assert len(held) >= 70
