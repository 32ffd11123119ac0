"""Grammars against glibc itself, and the words that each component takes, ignores or dies on."""

from __future__ import annotations

import ctypes
import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.flags import grammars, lists
from doctor.knowledge.store import table
from tests.each import each

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.strtoll.restype = ctypes.c_longlong
LIBC.strtoll.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]
LIBC.atoi.restype = ctypes.c_int
LIBC.atoi.argtypes = [ctypes.c_char_p]
NUMBERS = st.from_regex(r"\A\s?[+-]?(0[xX]?)?[0-9a-fA-FxX]{0,12}[a-z ]{0,3}\Z")


def strtoll(text: str) -> int | None:
    """As NCCL's param.cc calls it: base 0, None where it says ERANGE."""
    ctypes.set_errno(0)
    value = int(LIBC.strtoll(text.encode(), None, 0))
    return None if ctypes.get_errno() == errno.ERANGE else value


@each(
    "text",
    ["1", "0", "true", "yes", "0x10", "010", "08", "12abc", " 7", "-1", "+3", "0x", "", "9" * 25, "-" + "9" * 25],
)
def test_integers_as_glibc_reads_them(text: str) -> None:
    assert grammars.c_integer(text)[0] == strtoll(text)


@given(NUMBERS)
def test_any_number_as_glibc_reads_it(text: str) -> None:
    """Run against the C library of this machine (strtoll by ctypes)."""
    assert grammars.c_integer(text)[0] == strtoll(text)


@given(st.from_regex(r"\A\s?[+-]?[0-9]{0,9}[a-z]{0,3}\Z"))
def test_leading_digits_as_glibc_reads_them(text: str) -> None:
    """Run against the C library of this machine (atoi by ctypes)."""
    assert grammars.atoi(text)[0] == int(LIBC.atoi(text.encode()))


def test_every_grammar_of_the_table_is_read() -> None:
    assert grammars.known() == set(table("flags/grammars"))


@each(
    "grammar, taken, misread, ignored, fails",
    [
        ("rocr_on1", ["1", "0", ""], ["true", "yes"], [], []),
        ("rocr_off0", ["0", "1", "true"], ["false", "off", "no"], [], []),
        ("rocr_tri", ["0", "1"], [], ["true", "2", ""], []),
        ("clr_bool", ["1", "0", "true", "-1", "false"], ["True", "yes", "on"], [], []),
        ("clr_int", ["4", "-1"], ["0x10", "true"], [], []),
        ("miopen_bool", ["1", "Enabled", "OFF"], [], [], ["2", "maybe", ""]),
        ("nccl_int", ["1", "0x1f", "-1"], ["true", "no", "12abc", "010"], ["", "9" * 25], []),
        ("c10_01", ["1", "0"], [], ["true", "on", ""], []),
        ("c10d_bool", ["1", "Yes", "t", "FALSE"], [], [], ["on", "off", "2"]),
        ("exact_TRUE", ["TRUE", "0", "false"], ["1", "true", "True"], [], []),
        ("triton_bool", ["on", "Y", "0", "false"], ["t", "2"], [], []),
        ("py_int_bool", ["1", "0", "2", " 1 "], [], [], ["true", "", "1.0"]),
        ("py_true_or_1", ["True", "1", "0"], ["yes", "on"], [], []),
        ("sglang_bool", ["yes", "N"], [], ["on", "2"], []),
        ("hf_bool", ["ON", "yes", "0"], ["y", "t"], [], []),
        ("str_to_bool", ["on", "T", "Off"], [], [], ["2", ""]),
        ("go_parsebool", ["t", "True", "F"], ["yes", "on", "tRUE"], [], []),
        ("xla_prealloc", ["false", "0", "true"], ["FALSE", "off", "no"], [], []),
        ("fi_bool", ["Yes", "off"], [], ["y", "2"], []),
        ("gfx_version", ["10.3.0", "9.0.10"], [], [], ["gfx1030", "10.3", "64.0.0", ""]),
        ("visible_rocr", ["0,1", "GPU-1a2b", "0,-1"], ["", "0,0", "0,x"], [], []),
        ("visible_hip", ["0,1"], ["", "01", "0, 1", "-1"], [], []),
        ("visible_cuda", ["0,1", "-1", "MIG-1a/0/0", "GPU-8932f937"], ["", "0,0", "0,x"], [], []),
        ("nccl_iflist", ["eth0", "^lo,docker", "=eth0"], ["eth0,^lo", "eth0, eth1"], [""], []),
        ("xla_flags", ["--xla_a=1 --b"], [], [], ["xla_a=1", "-x"]),
    ],
)
def test_words(grammar: str, taken: list[str], misread: list[str], ignored: list[str], fails: list[str]) -> None:
    expected = {"taken": taken, "misread": misread, "ignored": ignored, "fails": fails}
    for state, texts in expected.items():
        for text in texts:
            reading = grammars.read(grammar, text)
            assert reading is not None
            assert reading.state == state, (grammar, text, reading)


@pytest.mark.parametrize("text", ["expandable_segments:True", "max_split_size_mb:20", "a:1,roundup_power2_divisions:4"])
def test_allocator_options_are_split(text: str) -> None:
    assert lists.allocator_options(text) is not None


def test_a_better_spelling_is_found_in_each_grammar() -> None:
    assert grammars.spelt("exact_TRUE", True) == "TRUE"
    assert grammars.spelt("xla_prealloc", False) == "0"
    assert grammars.spelt("gfx_version", True) is None
