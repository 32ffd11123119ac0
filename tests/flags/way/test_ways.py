"""What doctor says of each variable at each process, against what really running the file printed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.each import each
from tests.flags.way import cases as given

CASES = {case["name"]: case for case in given.cases()}
TRUTH = given.truth()


def outcomes(case: dict[str, Any]) -> list[tuple[str, str]]:
    """(right, open or wrong; where) for each caller, process and variable."""
    made = []
    every = TRUTH[case["name"]]
    for caller, seen, said in zip(given.callers(case), every, given.predicted(case), strict=True):
        for label, values in seen.items():
            for name, really in values.items():
                changes = len({str(other.get(label, {}).get(name)) for other in every}) > 1 or len(really) > 1
                may = said.get((label, name))
                outcome = _outcome(may, set(really), changes or bool(case.get("run_dependent")))
                made.append((outcome, f"{caller} {label} {name}: {may}, really {really}"))
    return made


def _outcome(may: set[str | None] | None, really: set[str | None], depends: bool) -> str:
    """Right: that it must be so, or that it may where that depends on what is not in the file."""
    if may is None:
        return "open"
    if len(may) == 1 and given.UNKNOWN not in may:
        return "right" if may == really else "wrong"
    covered = given.UNKNOWN in may or really <= may
    return "wrong" if not covered else "right" if depends else "open"


@each("name", CASES)
def test_nothing_is_said_to_be_that_is_not(name: str) -> None:
    assert [where for outcome, where in outcomes(CASES[name]) if outcome == "wrong"] == []


def test_nearly_all_is_told() -> None:
    counts = Counter(outcome for case in CASES.values() for outcome, _ in outcomes(case))
    assert counts.total() >= 240
    assert counts["right"] / counts.total() >= 0.96


def test_every_case_was_run() -> None:
    assert set(TRUTH) == set(CASES)
