"""Random words where a secret may stand: values of flags and variables whatever their name is, and what follows on a line
behind a word that speaks of secrets.
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import re

from doctor.redaction.lazy import Lazy
from doctor.redaction.names import is_opaque
from doctor.redaction.places import NAME_BEFORE, lowered, mask
from doctor.redaction.tally import Tally

_OPAQUE = Lazy(r"=[\"']?(?=[A-Za-z0-9+/_=~.-]{16})([A-Za-z0-9+/_=~.-]{16,512})")
_NEAR = Lazy(
    r"passw|secret|token|login|unseal|psk|auth[ _-]?pass|\bauth\b|community|com2sec|api.?key|credential|http-basic|access.?key|pass\b"
)
_WORDS = Lazy(r"(?<![A-Za-z0-9+/_=~.%-])[A-Za-z0-9+/_=~.-]{16,200}")
_SHORT_FLAG = Lazy(r"(?<=\s)(-[A-Za-z][ =]?[\"']?)([A-Za-z0-9+/_=~.-]{16,512})")


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
