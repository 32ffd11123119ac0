"""Where a value ends that follows a name: quoted (with as many backslashes as JSON inside JSON gives), bare, a list, a
block of YAML, the rest of a line.

>>> text = 'a = "x \\\\" y", b'
>>> [text[s:e] for s, e in spans(text, 4, at_line_start=False, sign=" = ")]
['x \\\\" y']
"""

from __future__ import annotations

from doctor.redaction.lazy import Lazy

LONGEST = 20_000
"""Characters of one value."""

_OPENS = Lazy(r"(?:\$|[bBfFrRuU]{1,2})?(\\{0,15})([\"'`])")
_BARE = Lazy(
    r"(?:[^\s'\",;&<>|\\)}\]`]|[,;&|)}\]<>](?=[A-Za-z0-9!#$%^*@~+/?-])(?![A-Za-z_][\w.-]{0,60}=)|\\(?![nrt\"'\\u]))+"
)
_WORD = Lazy(r"[^\s'\"`\\]+")
_REST = Lazy(r"[^\r\n]+")
_ANOTHER = Lazy(r"[\w\]\"']{1,80}\s?[=:](?=[\s\"'\w])|\s--?[a-z]|\s[|&]{1,2}\s|\\n")
_BLOCK = Lazy(r"[|>][+-]?\d?[ \t]*\n")
_ITEM = Lazy(r"[ \t]*\n(?:[ \t]{0,40}- [^\n]{1,2000}(?:\n|$)){1,50}")
_STRING = Lazy(r"\"(?:[^\"\\\n]|\\.){1,4000}\"|'[^'\n]{1,4000}'")

Span = tuple[int, int]


def spans(text: str, place: int, *, at_line_start: bool, sign: str) -> list[Span]:
    """Start and end of the value (or of each value of a list) that begins at `place`; empty where there is none."""
    opened = _OPENS.made.match(text, place)
    if (
        opened
        and text.startswith(opened[2] * 2, opened.end())
        and (end := text.find(opened[2] * 3, opened.end() + 2)) > 0
    ):
        return [(opened.end() + 2, end)]  # three quotes
    if opened:
        return _quoted(text, opened.end(), opened[2], len(opened[1]))
    first = text[place : place + 1]
    if first == "[":
        return _listed(text, place)
    if first == "{" and "=" in sign and (end := text.find("}", place, place + 200)) > 0:
        return [(place + 1, end)]
    block = _BLOCK.made.match(text, place)
    if block:
        return _indented(text, place, block.end())
    if first in ("", "\n", "\r"):
        return _items(text, place) if ":" in sign else []
    rest = _rest_of_line(text, place) if at_line_start and (sign[-1:] in (" ", "\t")) else None
    bare = rest or _bare(text, place, whole=at_line_start)
    return [bare] if bare else []


def _bare(text: str, place: int, *, whole: bool) -> Span | None:
    found = (_WORD if whole else _BARE).made.match(text, place, place + LONGEST)
    if not found:
        return None
    end = found.end()
    while whole and end > place and text[end - 1] in ",;":
        end -= 1
    return (place, end) if end > place else None


def _rest_of_line(text: str, place: int) -> Span | None:
    """The rest of the line when it is one value: several words, and no other assignment, flag or pipe among them."""
    found = _REST.made.match(text, place, place + 2000)
    if not found or _ANOTHER.search(found[0]) or len(found[0].split()) > 12:
        return None
    value = found[0].partition(" #")[0].rstrip(" \t,;")
    return (place, place + len(value)) if value else None


def closing(text: str, place: int, quote: str, slashes: int) -> int:
    """Where the quote is that closes one opened with that many backslashes before it; -1 where there is none near."""
    end = place
    limit = min(len(text), place + LONGEST)
    while (end := text.find(quote, end, limit)) >= 0:
        before = end
        while before > place and text[before - 1] == "\\":
            before -= 1
        run = end - before
        if run % (2 * slashes + 2) == slashes or (slashes == 0 and quote == "'" and run == 0):
            return end - slashes
        end += 1
    return -1


def _quoted(text: str, place: int, quote: str, slashes: int) -> list[Span]:
    end = closing(text, place, quote, slashes)
    line = text.find("\n", place)
    if end < 0 or (0 <= line < end and text.count("\n", place, end) > 40):
        rest = _REST.made.match(text, place, place + LONGEST)
        return [(place, rest.end())] if rest else []
    found = [(place, end)] if end > place else []
    after = end + slashes + 1
    glued = _BARE.made.match(text, after) if text[after : after + 1] not in ("", ":", "=", ".", "+") else None
    if glued and glued[0][0] not in ",;&|)}]<>":  # a shell glues: 'it'\''s'
        found.append((after, glued.end()))
    elif text.startswith("\\''", after):
        found += _quoted(text, after + 3, "'", 0)
    return found


def _listed(text: str, place: int) -> list[Span]:
    end = text.find("]", place, place + LONGEST)
    if end < 0:
        return []
    return [(m.start() + 1, m.end() - 1) for m in _STRING.made.finditer(text, place, end)]


def _indented(text: str, name_at: int, place: int) -> list[Span]:
    """The lines of a block scalar: those deeper than the line that opened it."""
    line = text.rfind("\n", 0, name_at) + 1
    own = len(text[line:name_at]) - len(text[line:name_at].lstrip(" -"))
    end = place
    while end < min(len(text), place + LONGEST):
        after = text.find("\n", end) + 1 or len(text)
        row = text[end:after]
        if row.strip() and len(row) - len(row.lstrip(" ")) <= own:
            break
        end = after
    return [(place, end)] if text[place:end].strip() else []


def _items(text: str, place: int) -> list[Span]:
    found = _ITEM.made.match(text, place)
    if not found:
        return []
    at, out = place, []
    for row in found[0].splitlines(keepends=True):
        lead = row.find("- ") + 2 if row.lstrip().startswith("- ") else -1
        if lead > 0 and row[lead:].strip():
            out.append((at + lead, at + len(row.rstrip())))
        at += len(row)
    return out
