"""Random words where a secret may stand: values of flags and variables whatever their name is, and what follows on a line
behind a word that speaks of secrets.
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import re

from doctor.redaction.lazy import Lazy
from doctor.redaction.names import changes, is_opaque
from doctor.redaction.places import NAME_BEFORE, lowered, mask
from doctor.redaction.tally import Tally

_OPAQUE = Lazy(r"=[\"']?(?=[A-Za-z0-9+/_=~.-]{16})([A-Za-z0-9+/_=~.-]{16,512})")
_NEAR = Lazy(
    r"passw|secret|token|login|unseal|psk|auth[ _-]?pass|\bauth\b|community|com2sec|api.?key|credential|http-basic|access.?key|pass\b"
)
_WORDS = Lazy(r"(?<![A-Za-z0-9+/_=~.%-])[A-Za-z0-9+/_=~.-]{16,200}")
_SHORT_FLAG = Lazy(r"(?<=\s)(-[A-Za-z][ =]?[\"']?)([A-Za-z0-9+/_=~.-]{16,512})")

_BODY = Lazy(r"[A-Za-z0-9]{16,400}")
_ISSUER = Lazy(r"(?<![\w.-])(?=[A-Za-z])[A-Za-z0-9]{2,12}(?:[_.-][A-Za-z]{2,8}){0,2}[_-]\Z")
_OFTEN = 0.42
"""Changes of the kind of sign in what follows an issuer's prefix; names of kernels and symbols have fewer."""


def issued(text: str, tally: Tally) -> str:
    """Tokens of an issuer whose shape is not in the table: a short prefix, then random letters and digits to the end of
    the word: `acme_live_Zq8vT3k…`."""
    out: list[str] = []
    place = 0
    for found in _BODY.made.finditer(text):
        if text[found.start() - 1 : found.start()] not in ("_", "-") or found.start() == 0:
            continue
        before = _ISSUER.search(text[max(0, found.start() - 34) : found.start()])
        if before and is_opaque(found[0]) and changes(found[0]) >= _OFTEN:
            start = found.start() - len(before[0])
            place = mask(text, [(start, found.end())], "issued", tally, out, place)
    return "".join(out) + text[place:] if out else text


def opaque(text: str, tally: Tally) -> str:
    """Random values of flags and variables, whatever their name is: `--anything=Zq8vT3k…`."""

    def masked(found: re.Match[str]) -> str:
        before = NAME_BEFORE.search(text[max(0, found.start() - 80) : found.start()])
        name = before[0] if before else ""
        flag = name.startswith("-") or (name.isupper() and len(name) > 2)
        if not flag or not is_opaque(found[1]):
            return found[0]
        return found[0][: found.start(1) - found.start()] + tally.hit("random", found[1])

    return _OPAQUE.sub(masked, text)


def short_flags(text: str, tally: Tally) -> str:
    """Random values of flags of one letter: `-p Zq8vT3k…`."""
    return _SHORT_FLAG.sub(lambda m: m[1] + tally.hit("random", m[2]) if is_opaque(m[2]) else m[0], text)


def near(text: str, tally: Tally) -> str:
    """Random words on a line behind a word that speaks of secrets: `Unseal Key 1: Zq8vT3k…`."""
    out: list[str] = []
    place = 0
    for found in _NEAR.made.finditer(lowered(text)):
        start = max(place, found.end())
        end = min(n for n in (text.find("\n", found.end()), found.end() + 160, len(text)) if n >= 0)
        if start >= end:
            continue
        rest = _WORDS.made.finditer(text, start, min(len(text), end + 200))
        where = [w.span() for w in rest if w.start() < end and is_opaque(w[0])]
        place = mask(text, where, "random", tally, out, place)
    return "".join(out) + text[place:] if out else text
