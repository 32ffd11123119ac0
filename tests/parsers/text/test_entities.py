"""Entities in people's sentences: GPUs in odd spellings, versions, and what is not this machine's."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.knowledge.names import gpu_by_name
from doctor.parsers.text.entities import entities_in, read
from doctor.parsers.text.standing import Standing
from tests.parsers.text.how_people_write import WRITTEN
from tests.parsers.text.odd_spellings import ODD


def sheet(text: str) -> FactSheet:
    try:
        return read(text, "text", gpu_by_name)
    except ParserError:
        return FactSheet()


def test_gpus_in_odd_spellings_and_what_only_looks_like_one() -> None:
    wrong = []
    for text, vendor, arch in ODD:
        found = {entry.name.rpartition(".")[2]: entry.value for entry in sheet(text) if entry.name.startswith("gpus[")}
        if (found.get("vendor", ""), found.get("arch", "")) != (vendor, arch):
            wrong.append(text)
    assert wrong == []


def test_what_people_write_says_of_their_machine_what_it_says_and_no_more() -> None:
    read_ = [(text, name, value, sheet(text).get(name)) for text, name, value in WRITTEN]
    assert [row for row in read_ if row[2] != row[3]] == []


def test_what_was_tried_is_heard_and_no_fact() -> None:
    (tried,) = entities_in("I already tried driver 535.183.01", "text", gpu_by_name)
    assert (tried.fact, tried.value, tried.standing) == ("driver", "535.183.01", Standing.TRIED)


def test_a_fact_stands_at_its_line() -> None:
    (entry,) = [e for e in sheet("hello\n\nmy gfx1100 hangs") if e.name.endswith(".arch")]
    assert entry.source == "text:3"


_PIECES = [
    *[
        "RTX",
        "7900",
        "xtx",
        "gfx1100",
        "torch",
        "2.5.1+cu124",
        "driver",
        "550.54",
        "(",
        ")",
        ",",
        ".",
        "/opt/x",
        "in",
        "not",
        "works",
        "GPU",
        ":",
        "-",
        "显卡",
    ],
    "\n",
]


@given(st.one_of(st.text(max_size=400), st.lists(st.sampled_from(_PIECES), max_size=80).map(" ".join)))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    sheet(text)


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=4), st.sampled_from(("", " ", "\n")))
@settings(max_examples=40, deadline=None)
def test_eight_kilobytes_of_anything_are_read_in_time(pieces: list[str], between: str) -> None:
    """A budget of processor time that a quadratic step breaks many times over; 20 ms is what it takes when idle."""
    text = (between.join(pieces) + between) * (8192 // len(between.join(pieces) + between) + 1)
    start = time.process_time()
    sheet(text[:8192])
    assert time.process_time() - start < 0.2


def test_fifty_megabytes_are_bounded() -> None:
    row = "my RTX 3090 with driver 550.54.14 fails, torch 2.5.1 on Ubuntu 22.04 at step {}\n"
    text = "".join(row.format(number) for number in range(600_000))
    start = time.process_time()
    assert sheet(text).get("gpus[#0].arch") == "sm_86"
    assert time.process_time() - start < 5
