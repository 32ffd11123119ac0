"""The smallest set of changes that passes, and how often it is asked for."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.why.minimal import minimal


@pytest.mark.parametrize("number", [2, 20, 500])
def test_a_single_cause_costs_two_runs_a_level(number: int) -> None:
    for cause in (0, number // 2, number - 1):
        asked: list[tuple[int, ...]] = []

        def passes(part: tuple[int, ...], cause: int = cause, asked: list[tuple[int, ...]] = asked) -> bool:
            asked.append(part)
            return cause in part

        assert minimal(range(number), passes) == (cause,)
        assert len(asked) <= 2 * log2(number) + 2


def test_two_that_only_together_pass() -> None:
    assert set(minimal(range(100), lambda part: {3, 71} <= set(part))) == {3, 71}


@given(st.integers(2, 40), st.data())
def test_no_member_of_the_result_can_be_left_out(number: int, data: st.DataObject) -> None:
    causes = data.draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=3))
    assert set(minimal(range(number), lambda part: causes <= set(part))) == causes


def test_nothing_is_asked_twice() -> None:
    asked: list[tuple[int, ...]] = []

    def passes(part: tuple[int, ...]) -> bool:
        asked.append(part)
        return {1, 2, 29} <= set(part)

    minimal(range(30), passes)
    assert len(asked) == len(set(asked))
