"""A shell's grammar: what is one word, and which command stands in which."""

from __future__ import annotations

import pytest

from doctor.parsers.text import shell_tree
from doctor.parsers.text.shell_nodes import Case, Chain, Function, Group, If, Loop, Pipe, simple_commands


def words(text: str) -> list[list[str | None]]:
    return [[word.plain for word in each.words] for each in simple_commands(shell_tree.read(text).commands)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a && b || c", Chain),
        ("a &", Chain),
        ("a | b", Pipe),
        ("(a; b)", Group),
        ("{ a; b; }", Group),
        ("( (a); b )", Group),
        ("if a; then b; elif c; then d; else e; fi", If),
        ("for i in 1 2; do a; done", Loop),
        ("for ((i=0; i<2; i++)); do a; done", Loop),
        ("while a; do b; done < x", Loop),
        ("case $x in a|b) c;; *) d;; esac", Case),
        ("f() { a; }", Function),
        ("function f { a; }", Function),
    ],
)
def test_compound_commands(text: str, kind: type) -> None:
    tree = shell_tree.read(text)
    assert tree.fault is None
    assert [type(command) for command in tree.commands] == [kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a \\\n  b # c\nd", [["a", "b"], ["d"]]),
        ("a > x 2>&1 b", [["a", "b"]]),
        ("a <<EOF b\nif (\nEOF\nc", [["a", "b"], ["c"]]),
        ("a <<-'X'\n\tb\n\tX\nc", [["a"], ["c"]]),
        ("[[ a && ( b || c ) ]] && d", [["[[", "a", "&&", "(", "b", "||", "c", ")", "]]"], ["d"]]),
        ("((a); b)", [["a"], ["b"]]),
        ("a <your_path> b", [["a", None, "b"]]),
        ("A=<your path>\nb", [[], ["b"]]),
    ],
)
def test_words(text: str, expected: list[list[str | None]]) -> None:
    assert words(text) == expected


def test_lines_are_those_of_the_text() -> None:
    text = "a\n\nb <<E\nx\ny\nE\nX='1\n2'\nc \"3\n4\"\nd\n"
    commands = simple_commands(shell_tree.read(text).commands)
    assert [(each.line, each.words[0].plain if each.words else None) for each in commands] == [
        (1, "a"), (3, "b"), (7, None), (9, "c"), (11, "d"),
    ]  # fmt: skip
