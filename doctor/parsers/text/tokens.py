"""A line -> tokens: numbers (`12`, `550.54.14`), words of letters, single signs. Linear, and the only cutting there is.

Letters and digits that stand together are tokens apart, so that `RTX5070Ti` and `RTX 5070 Ti` read alike; `glued` says
that nothing is between a token and the one before. An address or a path is one token.

>>> [t.low for t in tokens("RTX5070Ti (driver v550.54.14), see /opt/rocm")]
['rtx', '5070', 'ti', '(', 'driver', 'v', '550.54.14', ')', ',', 'see', '/opt/rocm']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from doctor.parsers.lib.source_lines import printable

CHARS_PER_LINE = 2000
"""What is behind is left out: no sentence is longer, dumps of logs are."""
_TOKEN = re.compile(r"[0-9]+(?:\.[0-9]+)*|[A-Za-z]+|[^\x00-\x7f]+|\S")
_OPENS = frozenset("([{<\"'`=|,>“‘*")


class Token(NamedTuple):
    text: str
    low: str
    start: int
    glued: bool
    """Nothing is between it and the token before."""

    @property
    def number(self) -> bool:
        return self.text[0].isdigit() and self.text.isascii()

    @property
    def word(self) -> bool:
        return self.text[0].isalpha()

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def closed(text: str) -> frozenset[str]:
    """A closed list of words, written in one line."""
    return frozenset(text.split())


def lines(text: str, source: str, cues: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Lines in which one of the cues stands, cut to CHARS_PER_LINE, with the source of what is read there."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:CHARS_PER_LINE].rstrip("\r")
        if line and any(map(line.lower().__contains__, cues)):
            yield f"{source}:{number}", printable(line)


def tokens(line: str) -> list[Token]:
    """At most one a character of the first CHARS_PER_LINE."""
    line = line[:CHARS_PER_LINE]
    found: list[Token] = []
    end = -1
    skip = -1
    for match in _TOKEN.finditer(line):
        start = match.start()
        if start < skip:
            continue
        text = match[0]
        glued = start == end
        end = match.end()
        if text in "/\\~" and _leads_away(found, glued):
            skip = _blank(line, start)
            begin = _drop(found, glued and text != "~", start)
            found.append(Token(line[begin:skip], line[begin:skip].lower(), begin, False))
            end = skip
            continue
        found.append(Token(text, text.lower(), start, glued))
    return found


def _leads_away(found: list[Token], glued: bool) -> bool:
    """Whether this slash begins a path, or is within an address: `/opt`, `~/x`, `https:/`, `C:\\`, `a.org/`."""
    if not glued or not found:
        return True
    last = found[-1].text
    if last in _OPENS or last in ":.~":
        return True
    return len(found) > 2 and found[-1].word and found[-2].text == "." and found[-1].glued and found[-2].glued


def _drop(found: list[Token], glued: bool, start: int) -> int:
    """Take back what was read of an address before its slash: `https:`, `C:`, `github.com`. Where it begins."""
    while glued and found and found[-1].text not in _OPENS:
        last = found.pop()
        glued, start = last.glued, last.start
    return start


def _blank(line: str, at: int) -> int:
    """Where the next blank, quote or bracket stands."""
    while at < len(line) and not line[at].isspace() and line[at] not in "\"'`)>|,":
        at += 1
    return at


def joined(row: list[Token], at: int) -> int:
    """The end of the run of letters, digits and inner signs `. + - _ ~` that begins at `at`: a version's whole text."""
    end = at + 1
    while end < len(row) and row[end].glued:
        sign = row[end].text
        if sign in ".+-_~":
            if end + 1 >= len(row) or not row[end + 1].glued or not row[end + 1].text[0].isalnum():
                break
        elif not (row[end].text.isascii() and sign[0].isalnum()):
            break
        end += 1
    return end


def spelled(row: list[Token], first: int, last: int) -> str:
    """The tokens as the line has them, a blank for every gap."""
    parts = [row[first].text]
    parts += [token.text if token.glued else f" {token.text}" for token in row[first + 1 : last]]
    return "".join(parts)
