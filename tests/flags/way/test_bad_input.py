"""Long, broken and circular scripts: an answer in bounded time, that says what was not read."""

from __future__ import annotations

import pytest

from doctor.flags.way.run import follow
from doctor.parsers.text.shell_lexer import HOLE

END = "\nexport A=1\nsee a\n"


def notes(text: str, files: dict[str, str] | None = None) -> list[str]:
    held = files or {}
    return follow("a.sh", text, "shell", lambda p: (p, held[p]) if p in held else None).notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("see a\nif x; then\nsee b\n", "a.sh:4: the text ends within if; not read from there on"),
        ("see a\nfi\n", "a.sh:2: unexpected fi; not read from there on"),
        ("see a\nX='\n", "a.sh:2: the quote ' is not closed; not read from there on"),
        ("see a\nX=$(see b\n", "a.sh:2: the bracket $( is not closed; not read from there on"),
        ("see a\nX=(1 2\n", "a.sh:2: the array is not closed; not read from there on"),
        ("( " * 5000, "a.sh:1: nested more than 60 levels deep; not read from there on"),
        ("a\n" * 10_001, "a.sh:10001: more than 10000 commands; not read from there on"),
        ("a " * 5_002, "a.sh:1: a command of more than 5000 words; not read from there on"),
    ],
)
def test_what_is_not_read_is_said_with_its_place(text: str, said: str) -> None:
    assert said in notes(text)


def test_what_stands_above_a_fault_counts() -> None:
    found = follow("a.sh", "export A=1\nsee a\nif then\n", "shell")
    assert [alt.text for process in found.processes for alt in process.sees.of("A")] == ["1"]


def test_files_that_source_each_other_end() -> None:
    files = {"a.sh": ". ./b.sh", "b.sh": ". ./a.sh\nexport A=1\n"}
    assert notes(". ./b.sh\nsee a\n", files) == ["b.sh:1: ./a.sh sources itself; followed once"]
    assert notes("bash a.sh\n", {"a.sh": "bash a.sh\n"}) == ["a.sh: starts itself; followed once"]


@pytest.mark.parametrize(
    "text",
    [
        "f() { f; f; }\nf" + END,
        "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(40)) + "f0" + END,
        "for i in 1 2; do\n" * 40 + "export B=$B$i\n" + "done\n" * 40 + END,
        "$(" * 12 + "a" + ")" * 12 + END,
        "A=$A$A\n" * 500 + END,
        "A+=xxxxxxxxxxxxxxxxxxxx\n" * 2000 + END,
        "cat <<A <<B\nx\nA\ny\nB\n" * 500 + END,
        "if x; then export B=1; fi\n" * 500 + END,
        "a || " * 4000 + "b" + END,
    ],
)
def test_what_grows_with_each_turn_is_bounded(text: str) -> None:
    assert len(follow("a.sh", text, "shell").processes) <= 400


def test_a_here_document_without_its_end_is_the_rest() -> None:
    found = follow("a.sh", "see a\nbash <<EOF\nsee b\n", "shell")
    assert [process.label for process in found.processes] == ["see a", "see b"]


@pytest.mark.parametrize("count", [10, 3000])
def test_more_variables_than_are_followed_are_not_known(count: int) -> None:
    text = "".join(f"export V{n}=1\n" for n in range(count)) + "python x.py\n"
    held = follow("a.sh", text, "shell").processes[0].sees.of(f"V{count - 1}")
    assert [alt.text for alt in held][-1] == ("1" if count == 10 else HOLE)


def test_nested_loops_do_not_lose_what_they_set() -> None:
    loop = "for i in 5 ${L[1]}; do\nA=$i\n{}\ndone\n"
    read = "while read -r x y; do\nB=$x\ndone <<EOF\nb $A\nEOF\n"
    text = loop.replace("{}", read * 4 + "for ((j=0;j<4;j++)); do\nC=$j\ndone") + "export B\npython x.py\n"
    assert HOLE in [alt.text for alt in follow("a.sh", text, "shell").processes[0].sees.of("B")]
