"""Secrets that are on more than one line: behind a backslash at a line's end, a value under its name, a token that a
terminal or a mail program wrapped, the lines of a here-document. Lines are joined, looked at, and parted again.

>>> behind_backslashes("A=\\\\\\nq8w7e6 b \\\\\\n c", lambda t: t.replace("q8w7e6", "[secret]"))
'A=[secret] b \\\\\\n c'
"""

# ruff: noqa: E501 -- tables
from __future__ import annotations

from collections.abc import Callable

from doctor.redaction.known import may_be_plain
from doctor.redaction.lazy import Lazy
from doctor.redaction.names import is_mixed, is_path, is_secret_name, is_strong_name
from doctor.redaction.randomness import bits
from doctor.redaction.tally import MASK, Tally

Masked = Callable[[str], str]
"""A text without the secrets that are on one line."""

_LOGICAL = Lazy(r"(?:[^\n]{0,4000}\\\r?\n){1,200}[^\n]{0,4000}")
_BREAK = Lazy(r"\\\r?\n")
_ALONE = Lazy(r"(?m)^[ \t]*[\"']?([^\s\"'<>{}\[\]]{4,4000}?)[\"']?,?[ \t\r]*$")
_LAST = Lazy(r"(\[secret\]|[A-Za-z0-9+/=_.~-]{8,4000})[ \t\r]*\Z")
_TOKEN = Lazy(r"\.?[A-Za-z0-9+/=_-][A-Za-z0-9+/=_.-]{3,4000}")
_CALLED = Lazy(
    r"(?i)(?:^|[\s\"'>])(?:(?:enter|your|the|new|current|type|paste)\s+){0,3}((?:(?:api|access|secret|private|auth|license|security|account"
    r"|root|admin|user|database|vault|recovery|unseal)[ _-]){0,3}(?:key|token|password|passphrase|secret|pin|code)(?: for \S{1,60})?)[\"']?\s{0,3}(?:[:=]|is:?|:=)?[ \t]*\Z"
)
_PRINTS = Lazy(r"(?:echo|printenv|print|cat|get)\s[^\n]*\Z")
_NAMED = Lazy(r"(?:^|[\s{,$/])[\"']?(-{0,2}[A-Za-z_][A-Za-z0-9_.-]{1,80})[\"']?[ \t]*([:=]?)[ \t]*\Z")
_HERE = Lazy(r"(?i)<<-?[ \t]{0,3}[\"']?(\w{1,30})[\"']?")
_READS = Lazy(r"(?i)stdin|login|passw|chpasswd|token|secret|cryptsetup|kinit|vault")
_PROMPT = Lazy(r".*[$#>%]")
_ASSIGNED = Lazy(r"[A-Za-z_][\w.-]{0,60}=[^=]")
_MOST_LINES = 40
_BODY_LINES = 8
_PARTS = Lazy(r"[A-Za-z0-9]+")
_PLAIN_PART = Lazy(r"[a-z]{3,}|[A-Z]?[a-z]{4,}\d{0,2}")
_RANDOM_PART = 16


def behind_backslashes(text: str, masked: Masked) -> str:
    """The text without secrets of lines that end in a backslash. `masked` is asked for the lines made one."""
    if "\\\n" in text or "\\\r\n" in text:
        return _LOGICAL.sub(lambda m: _parted(m[0], masked), text)
    return text


def _parted(raw: str, masked: Masked) -> str:
    """Lines that a backslash holds together: as one, and parted again where no secret was."""
    whole = _BREAK.sub("", raw)
    shown = masked(whole)
    if shown == whole:
        return raw
    breaks, shift = [], 0
    for found in _BREAK.finditer(raw):
        breaks.append((found.start() - shift, found[0]))
        shift += len(found[0])
    out, here, place = [], 0, 0  # `here` in the whole, `place` in the raw text
    for piece in shown.split(MASK):
        start = whole.find(piece, here)
        if start < 0:
            return shown
        out.append((start, start + len(piece)))
        here = start + len(piece)
    parts: list[str] = []
    for number, (start, end) in enumerate(out):
        inside = [b for b in breaks if start < b[0] < end]
        place = start
        for at, sign in inside:
            parts += (whole[place:at], sign)
            place = at
        parts += (whole[place:end], MASK if number < len(out) - 1 else "")
    return "".join(parts)


def over_lines(text: str, tally: Tally, masked: Masked) -> str:
    """Line by line: a word that is alone belongs to a name or to a part of a token above it."""
    lines = text.split("\n")
    here = ""  # the end mark of a here-document whose body is a secret
    number = 1
    while number < len(lines):
        above, line = lines[number - 1], lines[number]
        opened = _HERE.search(above) if "<<" in above else None
        if opened and _READS.search(above):
            here = opened[1] if any(row.strip() == opened[1] for row in lines[number : number + _BODY_LINES]) else ""
        found = _ALONE.match(line) if len(line) < 4200 else None
        if not found:
            here = "" if line.strip() else here
            number += 1
            continue
        word = found[1]
        if here:
            if word == here:
                here = ""
            elif _is_value(word, strong=True):
                lines[number] = line.replace(word, tally.hit("here-document", word))
        elif (end := _wrapped(lines, number, masked)) > number:
            tally.hit("wrapped", "".join(lines[number:end]))
            lines[number - 1] = _LAST.sub(MASK, above)
            # The line stays, so that what counts lines still does.
            lines[number:end] = [MASK] * (end - number)
            number = end
            continue
        elif _is_named(lines, number, word):
            lines[number] = line.replace(word, tally.hit("named above", word))
        number += 1
    return "\n".join(lines)


def _wrapped(lines: list[str], number: int, masked: Masked) -> int:
    """The line behind the last one that belongs to a token which the line above begins; `number` where none does."""
    last = _LAST.search(lines[number - 1][-4000:])
    if not last:
        return number
    begun = last[1]
    if begun == MASK:
        end = number
        while end < len(lines) and _continues(lines[end]):
            end += 1
        return end
    whole = begun
    if len(lines[number - 1]) < 20 or not (is_mixed(begun) or begun.startswith("eyJ")):
        return number
    for end in range(number, min(len(lines), number + _MOST_LINES)):
        if not _continues(lines[end]):
            break
        whole += lines[end].strip()
        if masked(whole) == MASK:
            while end + 1 < len(lines) and _continues(lines[end + 1]):
                end += 1
            return end + 1
    return number


def _continues(line: str) -> bool:
    """Whether a line is nothing but the rest of a token."""
    word = line.strip()
    if not _TOKEN.fullmatch(word) or is_path(word) or _ASSIGNED.match(word):
        return False
    parts = _PARTS.findall(word)
    longest = max(map(len, parts), default=0)
    if len(parts) > 1 and longest < _RANDOM_PART and any(_PLAIN_PART.fullmatch(part) for part in parts):
        return False  # a file's name
    return (len(word) > 5 and bits("".join(parts)) > 0) or (is_mixed(word) and not may_be_plain(word))


def _is_named(lines: list[str], number: int, word: str) -> bool:
    above = number - 1
    if not lines[above].strip() and above:
        above -= 1
    before = lines[above][-200:]
    if called := _CALLED.search(before):
        return _is_value(word, strong=before.rstrip()[-1:] in (":", "=")) and called[1].lower() not in (
            "key",
            "code",
            "pin",
        )
    named = _NAMED.search(before)
    if not named or not is_secret_name(named[1].lstrip("-")) or not is_strong_name(named[1]):
        return False
    flag = named[1].startswith("--") or bool(_PRINTS.search(before))
    if not named[2] and not flag and before.strip(" \t\"'") != named[1]:
        return False  # the last word of a sentence, or a value
    return _is_value(word, strong=bool(named[2]) or flag)


def _is_value(word: str, *, strong: bool) -> bool:
    if (
        word.startswith((MASK[:-1], "$", "-", "#", "//"))
        or word.endswith((":", "{", "=", ")"))
        or _PROMPT.fullmatch(word)
    ):
        return False
    if is_path(word) or len(word) < 6 or _ASSIGNED.match(word):
        return False
    return not may_be_plain(word) or (strong and is_mixed(word) and "." not in word)
