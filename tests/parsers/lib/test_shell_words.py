"""Shell text as words; a hostile one costs no more than its length."""

from __future__ import annotations

import subprocess
import sys

import pytest

from doctor.parsers.lib.shell_words import words


def split(text: str) -> list[list[str]]:
    return [[word.text for word in command] for command in words(text)]


def test_quotes_substitutions_and_continued_lines() -> None:
    text = 'export A=\'x y\' B="a\\"b" # no\nC=$(date +(x)) \\\n  D=a\\ b; run \'it\'"s"'
    assert split(text) == [["export", "A=x y", 'B=a"b'], ["C=$(…)", "D=a b"], ["run", "its"]]
    assert split("A=$(x\nB=1")[-1] == ["B=1"]


@pytest.mark.slow
@pytest.mark.parametrize("hostile", ["'A=' + 'A' * 3_000_000", "'A=' + '$(' * 150_000"])
def test_a_long_word_is_read_in_its_length(hostile: str) -> None:
    """Each of these took more than a minute; the child is ended where it does again."""
    program = f"from doctor.parsers.lib.shell_words import words; list(words({hostile}))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
