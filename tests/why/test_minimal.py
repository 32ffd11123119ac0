"""The smallest set of changes that passes, and how often it is asked for."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.why.minimal import minimal


@pytest.mark.parametrize("number", [2, 20, 500])
@pytest.mark.parametrize("causes", [1, 2])
def test_each_cause_costs_a_run_a_level(number: int, causes: int) -> None:
    for first in (0, number // 2, number - causes):
        wanted, asked = {*range(first, first + causes - 1), number - 1 if causes > 1 else first}, list[object]()

        def passes(part: tuple[int, ...], wanted: set[int] = wanted, asked: list[object] = asked) -> bool:
            asked.append(frozenset(part))
            return wanted <= set(part)

        assert set(minimal(range(number), passes)) == wanted
        assert len(asked) == len(set(asked)), "asked twice"
        assert len(asked) <= causes * (ceil(log2(number)) + 2)


@given(st.integers(2, 40), st.data())
def test_no_member_of_the_result_can_be_left_out(number: int, data: st.DataObject) -> None:
    causes = data.draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=4))
    assert set(minimal(range(number), lambda part: causes <= set(part))) == causes


@given(st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4), min_size=1, max_size=5))
def test_the_result_passes_whatever_else_does(passing: list[set[int]]) -> None:
    """Changes that pass only with others: some larger sets fail."""
    answers = [*passing, set(range(12))]
    found = set(minimal(range(12), lambda part: set(part) in answers))
    assert found in answers
    assert all(found - {one} not in answers for one in found)


def test_two_that_need_each_other_do_not_hide_the_one_that_matters() -> None:
    """1 and 9 are of one release: with one of them alone nothing works."""
    assert minimal(range(12), lambda part: 5 in part and len({1, 9} & set(part)) != 1) == (5,)
