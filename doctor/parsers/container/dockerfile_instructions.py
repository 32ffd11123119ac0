"""Text of a Dockerfile or Containerfile -> its instructions, with the line that each begins on.

>>> [(i.line, i.name, i.text) for i in read("FROM a\\nRUN one \\\\\\n  # note\\n  && two\\n")]
[(1, 'FROM', 'a'), (2, 'RUN', 'one    && two')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.errors import ParserError

MAX_TEXT = 1 << 20
_NAMES_TEXT = """
FROM RUN CMD LABEL MAINTAINER EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL
HEALTHCHECK SHELL
"""
_NAMES = frozenset(_NAMES_TEXT.split())
_DIRECTIVE = re.compile(r"#\s{0,8}(?P<name>[A-Za-z]{1,20})\s{0,8}=\s{0,8}(?P<value>\S{1,200})\s{0,8}$")
_INSTRUCTION = re.compile(r"\s{0,80}(?P<name>[A-Za-z]{3,12})(?:\s+(?P<rest>.*))?$", re.DOTALL)
_HEREDOC = re.compile(r"<<-?(?P<quote>[\"']?)(?P<word>[A-Za-z_][A-Za-z0-9_]{0,40})(?P=quote)")


@dataclass(frozen=True)
class Instruction:
    """`text`: what follows the name, lines joined, comments within left out; here-documents with it, a line each."""

    line: int
    name: str
    text: str


def read(text: str) -> tuple[Instruction, ...]:
    """Raises ParserError where there is no FROM: whatever it is, it is no Dockerfile."""
    lines = text[:MAX_TEXT].removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    escape, position = "\\", 0
    while position < len(lines) and (found := _DIRECTIVE.match(lines[position].strip()[:300])):
        escape = found["value"] if found["name"].lower() == "escape" and found["value"] in "\\`" else escape
        position += 1
    made = []
    while position < len(lines):
        if not lines[position].strip() or lines[position].lstrip().startswith("#"):
            position += 1
            continue
        begun = position
        joined, position = _joined(lines, position, escape)
        match = _INSTRUCTION.match(joined)
        if match is None or match["name"].upper() not in _NAMES:
            raise ParserError(f"line {begun + 1}: no instruction of a Dockerfile")
        made.append(Instruction(begun + 1, match["name"].upper(), "".join(_shown(match["rest"] or "")).strip()))
    if not any(i.name == "FROM" for i in made):
        raise ParserError("no FROM line in the text")
    return tuple(made)


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def _joined(lines: list[str], position: int, escape: str) -> tuple[str, int]:
    """An instruction's lines as one, with its here-documents; and the line after it."""
    parts: list[str] = []
    while position < len(lines):
        line = lines[position]
        position += 1
        if parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        goes_on = line.rstrip().endswith(escape)
        parts.append(line.rstrip()[:-1] if goes_on else line)
        if not goes_on:
            break
    joined = " ".join(parts)
    for found in list(_HEREDOC.finditer(joined[:10_000]))[:8]:
        while position < len(lines):
            line = lines[position]
            position += 1
            if line.strip() == found["word"]:
                break
            joined += "\n" + line
    return joined, position
