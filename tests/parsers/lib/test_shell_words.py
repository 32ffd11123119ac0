"""Words with their quotes and lines; a hostile text costs no more than its length."""

from __future__ import annotations

import subprocess
import sys

import pytest

from doctor.parsers.lib.shell_words import words


def test_quotes_and_continued_lines() -> None:
    text = "ENV A='x y' B=\"a\\\"b\" \\\n  C=c\\ d E=1\\\n2 F=''\nG=\"h"
    assert [(w.line, w.text) for w in words(text)] == [
        (1, "ENV"), (1, "A=x y"), (1, 'B=a"b'), (2, "C=c d"), (2, "E=12"), (3, "F="), (4, "G="), (4, "h"),
    ]  # fmt: skip


def test_an_escape_alone_is_no_word() -> None:
    assert [w.text for w in words("A=1 \\\n\\\n''")] == ["A=1", ""]


@pytest.mark.slow
@pytest.mark.parametrize("hostile", ["'A=' + 'A' * 3_000_000", "'A=' + chr(34) + '\\\\\"' * 1_000_000"])
def test_a_long_word_is_read_in_its_length(hostile: str) -> None:
    program = f"from doctor.parsers.lib.shell_words import words; list(words({hostile}))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
