from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.container.dockerfile_instructions import Instruction, read


def test_lines_continuations_comments_and_case() -> None:
    text = "# syntax=docker/dockerfile:1\n\nfrom a as b\r\nRUN x \\\n# said\n\n  y\nENV A=1\n"
    assert read(text) == (
        Instruction(3, "FROM", "a as b"),
        Instruction(4, "RUN", "x    y"),
        Instruction(8, "ENV", "A=1"),
    )


def test_a_here_document_is_part_of_its_instruction() -> None:
    made = read("FROM a\nRUN <<EOF bash\nFROM no\nEOF\nUSER 1\n")
    assert [(i.line, i.name) for i in made] == [(1, "FROM"), (2, "RUN"), (5, "USER")]
    assert "FROM no" in made[1].text


def test_a_byte_order_mark_is_passed_over_as_docker_does() -> None:
    assert read("\ufeffFROM a\n") == (Instruction(1, "FROM", "a"),)


def test_another_escape() -> None:
    assert read("# escape=`\nFROM a\nRUN c:\\x `\n y\n")[1].text == "c:\\x   y"


@pytest.mark.parametrize("text", ["", "hello\n", "services:\n  a: 1\n", "RUN true\n", "FROM a\n" + "}" * 9])
def test_what_is_no_dockerfile(text: str) -> None:
    with pytest.raises(ParserError):
        read(text)


def test_no_escape_sequence_comes_through() -> None:
    assert "\x1b" not in read("FROM a\nRUN echo \x1b[2J\n")[1].text
