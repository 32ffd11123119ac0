"""A text's lines, each with the source that a fact read from it carries.

>>> list(source_lines("a\\nb", "text"))
[('text:1', 'a'), ('text:2', 'b')]
"""

from __future__ import annotations

from collections.abc import Iterator

LINE_LIMIT = 8192
VALUE_LIMIT = 400


def source_lines(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Lines cut to LINE_LIMIT characters, without control characters (a tab stays)."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:LINE_LIMIT].rstrip("\r")
        yield f"{source}:{number}", printable(line)


def printable(text: str) -> str:
    """The text without control characters other than tabs."""
    if text.isprintable() or text.replace("\t", "").isprintable():  # nearly all, at a tenth of the price
        return text
    return "\t".join("".join(filter(str.isprintable, part)) for part in text.split("\t"))


def kept(value: str, limit: int = VALUE_LIMIT) -> str:
    """A value as it is kept: on one line, bounded."""
    return printable(" ".join(value.split()))[:limit]
