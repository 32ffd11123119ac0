"""What a script computes from texts that are known; what is not known stays so."""

from __future__ import annotations

import pytest

from doctor.flags.way.known import arithmetic, formatted, holds, matches, printed
from doctor.parsers.text.shell_lexer import HOLE


@pytest.mark.parametrize(
    ("text", "value"),
    [("N*2+1", 7), ("7/-2", -3), ("-7%3", -1), ("N>2 && N<4", 1), ("010", None), ("1?2:3", None), ("X+1", None),
     ("2**9", None), ("1/0", None), ("!N==1", None), ("5&1==1", None)],
)  # fmt: skip
def test_arithmetic(text: str, value: int | None) -> None:
    assert arithmetic(text, {"N": "3"}.get) == value


@pytest.mark.parametrize(
    ("words", "found"),
    [("-n x", True), ("-z x", False), ("8 -ge 4", True), ("a = b", False), ("! a != b", False), ("", False),
     ("-f x", None), ("x -gt 1", None), (f"-n {HOLE}", None), (f"-n a{HOLE}", True), (f"a = {HOLE}", None),
     ("a = a -o b", True), (f"a = b -a {HOLE}", False), (f"a = a -a {HOLE}", None)],
)  # fmt: skip
def test_a_test(words: str, found: bool | None) -> None:
    assert holds(words.split()) is found


def test_a_file_that_is_there_makes_a_test_true_and_a_missing_one_says_nothing() -> None:
    assert holds(["-f", "x.env"], (), "x.env".__eq__) is True
    assert holds(["-f", "y.env"], (), "x.env".__eq__) is None


def test_patterns() -> None:
    assert holds(["gfx942", "==", "gfx94*", "||", "b"], [None, None, "gfx94*", None, None]) is True
    assert matches("a", None) is None


def test_what_is_printed() -> None:
    assert formatted(["%s=%d\\n", "A", "1", "B", "2"]) == "A=1\nB=2\n"
    assert formatted(["%5s", "A"]) == formatted(["%d", "b"]) == formatted(["%d", "010"]) == HOLE
    assert [printed(t.split()) for t in ("echo -n a b", "dirname /a/b", "basename /a/b.py .py", "seq -s, 0 2")] == [
        "a b", "/a", "b", "0,1,2",
    ]  # fmt: skip
    assert printed(["date"]) == printed(["basename", "x/"]) == HOLE
