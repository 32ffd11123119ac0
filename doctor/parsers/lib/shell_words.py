"""Shell text -> its commands as words, each with the line where it begins.

>>> [[w.text for w in command] for command in words("export A='x y' B=2; run")]
[['export', 'A=x y', 'B=2'], ['run']]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.parsers.lib.source_lines import LINE_LIMIT

_MOST_UNCLOSED = 200
"""So many `$(` that nothing closes are searched for their end; a text with more is no script."""


_ALL = 1 << 20


class Word(NamedTuple):
    line: int
    text: str
    bare: bool
    """No quote in it: it may be an operator or a keyword."""
    open: int = _ALL
    """So many characters of it stand before the first quote: a quoted name is assigned nothing."""


def words(text: str, escape: str = "\\") -> Iterator[list[Word]]:
    """Commands of a shell text, as words with the line where each begins; quotes and continued lines are followed."""
    command: list[Word] = []
    held: list[str] = []  # a word of a million characters must not be copied for each
    begun, quote, quoted, unclosed, before = 0, "", False, 0, _ALL
    number, position, size = 1, 0, len(text)
    while position < size:
        char = text[position]
        position += 1
        if char == "\n":
            number += 1
        opens = char == "$" and quote != "'" and text[position : position + 1] == "(" and unclosed < _MOST_UNCLOSED
        end = _substitution(text, position) if opens else position
        unclosed += opens and end == position
        if end > position:
            held.append("$(…)")
            begun = begun or number
            number += text.count("\n", position, end)
            position = end
            continue
        if quote:
            if char == quote:
                quote = ""
            elif char == escape and quote == '"' and text[position : position + 1] in '"\\\n$`':
                if text[position : position + 1] == "\n":
                    number += 1
                else:
                    held.append(text[position])
                position += 1
            else:
                held.append(char)
            continue
        if char == escape and position < size:
            following = text[position]
            position += 1
            if following == "\n":
                number += 1
                while escape == "`" and text[position : position + 1] == " ":
                    position += 1
            else:
                held.append(following)
                begun = begun or number
            continue
        if char in "'\"":
            before = before if quoted else sum(map(len, held))
            quote, quoted, begun = char, True, begun or number
            continue
        comment = char == "#" and not held and not quoted
        if char.isspace() or char in ";&|()" or comment:
            if held or quoted:
                command.append(Word(begun, "".join(held), not quoted, before))
                held, begun, quoted, before = [], 0, False, _ALL
            if comment:
                end = text.find("\n", position)
                position = size if end < 0 else end
            if char in "\n;&|()" and command:
                yield command
                command = []
            continue
        held.append(char)
        begun = begun or number
    if held or quoted:
        command.append(Word(begun, "".join(held), not quoted, before))
    if command:
        yield command


def _substitution(text: str, position: int) -> int:
    """Behind the bracket that closes the `$(` at `position`; `position` where none closes."""
    depth = 0
    for end in range(position, min(position + LINE_LIMIT, len(text))):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return end + 1
    return position
