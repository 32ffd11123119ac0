"""A loop of cases tells all that fail, and takes its fixtures from pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.each import each


def test_all_that_fail_are_told_and_the_others_not() -> None:
    @each("number, is_even", [(2, True), (3, True), (4, True), (5, True)])
    def even(number: int, is_even: bool) -> None:
        assert (number % 2 == 0) is is_even

    with pytest.raises(pytest.fail.Exception, match=r"2 of 4 failed(?s:.*)number='3'(?s:.*)number='5'"):
        even()


@each("name", ["one", "two"])
def test_a_fixture_is_passed_on(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert (tmp_path / "one").exists()


def test_no_case_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="no case of x"):
        each("x", [])
