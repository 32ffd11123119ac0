"""Bytes of a pasted text -> clean numbered lines, in bounded memory whatever the input.

A line longer than LINE_LIMIT keeps its head. Escape sequences, carriage returns, prefixes that log collectors add and
the `>` of quoted mail are taken off; the number of a line is its place in the whole text, from 1.

>>> list(read_lines([b"> \\x1b[31mred\\x1b[0m\\r\\n", b"plain"]))
[(1, 'red'), (2, 'plain')]
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterable, Iterator

LINE_LIMIT = 8192
"""Bytes of one line that are kept."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), 65279, 8203, 8232, 8233))
_COLLECTOR = re.compile(r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z |[A-Za-z][\w.-]{0,60}[-_]\d+ {1,8}\| ?)")
"""What GitHub's and Kubernetes' logs put before each line, and what `docker compose logs` does."""
_QUOTE = re.compile(r"(?:> ?){1,8}")


def read_lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """Each line with its number. `chunks` are pieces of any size; they need not end where lines do."""
    for number, raw in enumerate(_split(_utf8(chunks)), 1):
        yield number, clean(raw.decode("utf-8", "replace"))


_WRAPPED = range(50, 81)
"""Length of a line that a mail program may have wrapped: with the next word it would have been longer than `_WIDTH`."""
_WIDTH = 66


def unwrapped(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines, and behind each that looks wrapped the same with its next one: an error text may be on two.

    >>> wrapped = [(1, "RuntimeError: The NVIDIA driver on your system is too old (found"), (2, "version 11040).")]
    >>> [(number, line[-14:]) for number, line in unwrapped(wrapped)]
    [(1, 'too old (found'), (2, 'ersion 11040).'), (1, 'ersion 11040).')]
    """
    last, before = 0, ""
    for number, line in lines:
        yield number, line
        if before and line[:1].isalnum() and number == last + 1 and len(before) + len(line.split(" ", 1)[0]) >= _WIDTH:
            yield last, f"{before} {line}"
        last, before = number, line if len(line) in _WRAPPED else ""


def _utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes as UTF-8, where the text says that it is UTF-16: PowerShell's `>` writes that."""
    rest = iter(chunks)
    first = next(rest, b"")
    if first[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        yield first
        yield from rest
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for chunk in itertools.chain([first], rest):
        yield decoder.decode(chunk).encode("utf-8", "replace")


def clean(line: str) -> str:
    """The line without what the way of pasting added."""
    if not line.isprintable():
        if "\x1b" in line:
            line = _ESCAPES.sub("", line)
        line = line.replace("\0", "").rstrip("\r\n")
        if "\r" in line:
            line = line.rpartition("\r")[2]
        line = line.translate(_CONTROLS)
    if line.startswith(">") and not line.startswith(">>>"):
        line = line[_QUOTE.match(line).end() :]  # type: ignore[union-attr]
    head = line[:1]
    if head and (head.isdigit() or head.isalpha()) and ("Z " in line[:32] or "| " in line[:72]):
        found = _COLLECTOR.match(line)
        line = line[found.end() :] if found else line
    return line.replace("\xa0", " ") if "\xa0" in line else line


def _split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest, dropping = b"", False
    for chunk in chunks:
        pieces = chunk.split(b"\n")
        if dropping:
            if len(pieces) == 1:
                continue
            yield rest
            pieces, rest, dropping = pieces[1:], b"", False
        pieces[0] = rest + pieces[0]
        rest = pieces.pop()
        for piece in pieces:
            yield piece[:LINE_LIMIT]
        if len(rest) > LINE_LIMIT:
            rest, dropping = rest[:LINE_LIMIT], True
    if rest:
        yield rest[:LINE_LIMIT]
