"""A long log keeps its symptoms, and loses the lines that can't hold one."""

from __future__ import annotations

from doctor.triage.sieve import LINES_PER_LITERAL, Sieve, grams_of

FILL = "an ordinary line of a long log, again and again"


def kept(lines: list[str], *literals: str) -> list[int]:
    return [n for n, _ in Sieve(grams_of(literals)).through(enumerate(lines, 1)) if n <= len(lines) - 3000]


def test_a_line_in_the_middle_is_kept_whatever_its_case() -> None:
    lines = [FILL] * 4000 + ["Xid 79 Ünïcode"] + [FILL] * 6000
    assert kept(lines, "xid 79", "never there") == [4001]


def test_a_literal_shorter_than_a_gram_is_found() -> None:
    assert kept([FILL] * 4000 + ["a qq b"] + [FILL] * 6000, "qq") == [4001]


def test_a_literal_in_every_line_does_not_let_the_log_pass() -> None:
    assert len(kept([FILL] * 20000, "ordinary")) == LINES_PER_LITERAL


def test_a_short_text_passes_whole() -> None:
    assert list(Sieve(grams_of(["x"])).through([(1, "a"), (2, "b")])) == [(1, "a"), (2, "b")]
