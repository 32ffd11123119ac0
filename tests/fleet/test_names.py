"""Slurm's bracket form: what is folded unfolds to the same, and what is no name goes into no list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.errors import InputError
from doctor.fleet.names import expanded, folded
from tests.each import each

NAMES = st.lists(
    st.builds("{}{}{}".format, st.sampled_from(["n", "gpu-", "r1n", "x"]), st.sampled_from(["", "0", "00"]),
              st.integers(0, 130)),
    max_size=40,
)  # fmt: skip


@given(NAMES)
def test_folding_loses_and_invents_no_name(names: list[str]) -> None:
    assert sorted(expanded(folded(names))) == sorted(set(names))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["n1", "n2", "n3", "n5"], "n[1-3,5]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["n9", "n10", "n09"], "n[9,09-10]"),
        (["n099", "n100", "n98"], "n[98,099-100]"),
        (["login", "10"], "10,login"),
        (["a.example.org"], "a.example.org"),
        ([], ""),
    ],
)
def test_ranges_keep_their_width(names: list[str], told: str) -> None:
    assert folded(names) in {told, ",".join(sorted(told.split(",")))}


@each("name", ["", "-n1", "n1;reboot", "n 1", "n1\n", "$(id)", "n[1]", "é1", "a" * 300, "n\x1b[1m"])
def test_what_is_no_name_goes_into_no_list(name: str) -> None:
    assert folded([name, "n7"]) == "n7"


@pytest.mark.parametrize("text", ["n[3-1]", "n[1-", "n[a-b]", "n[1-2000000]", "n[0-999999],m[0-999999]", "n;1", "-x"])
def test_a_list_that_is_none_says_so(text: str) -> None:
    with pytest.raises(InputError):
        expanded(text)
