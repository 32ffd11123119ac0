"""Secrets by name, by shape and by place (URLs, headers, flags, tools' arguments), plain and behind encodings.
Linear patterns only, each behind a cheap question, since most texts hold nothing.

>>> masked("curl -H 'Authorization: Bearer abcdefghijklmnop' https://me:pw@host/")
"curl -H 'Authorization: [secret]' https://[secret]@host/"
>>> masked("token: true, HIP_VISIBLE_DEVICES=0,1 --api-key=k3yk3y")
'token: true, HIP_VISIBLE_DEVICES=0,1 --api-key=[secret]'
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from doctor.redaction import places
from doctor.redaction.encoded import encoded
from doctor.redaction.joined import behind_backslashes, over_lines
from doctor.redaction.lazy import Lazy
from doctor.redaction.names import holds, is_secret_name
from doctor.redaction.random_words import random_words
from doctor.redaction.randomness import is_random
from doctor.redaction.shapes import SHAPES, without
from doctor.redaction.tally import MASK, Tally
from doctor.redaction.tools import arguments

__all__ = ["MASK", "is_secret_name", "masked", "masking", "variable"]

_NAME = Lazy(places.NAMED)
_PARTS = 20_000
"""Of an environment or an argument list; what has more is none."""
_DEPTH = 2
"""Encodings inside encodings that are looked through."""


def masked(text: str, counts: Counter[str] | None = None) -> str:
    """The text with every token, key and credential replaced; `counts` counts what, by kind."""
    return masking(text, Tally(counts))


_TAIL = Lazy(re.escape(MASK) + r"[A-Za-z0-9+/_-]{12,}={0,2}")
"""What of a token is left where its shape is shorter than the token, or fits the beginning of an encoded one."""


def masking(text: str, tally: Tally, depth: int = 0) -> str:
    """`masked`, into a tally. Texts with NULs are taken for environments and argument lists of /proc."""
    if "\0" in text:
        return _listed(text, tally) if text.count("\0") <= _PARTS else masking(text.replace("\0", " "), tally, depth)
    if "\n" in text and depth == 0:
        text = behind_backslashes(text, partial(_plain, tally=tally))
        text = over_lines(_plain(text, tally), tally, partial(_plain, tally=Tally()))
    else:
        text = _plain(text, tally)
    if MASK in text:
        text = _TAIL.sub(MASK, text)
    if len(text) < 12 or depth > _DEPTH:
        return text
    return encoded(text, tally, lambda inner: masking(inner, Tally(), depth + 1) != inner)


def variable(name: str, value: str, tally: Tally | Counter[str] | None = None) -> str:
    """The value of an environment variable, as it may be seen."""
    tally = tally if isinstance(tally, Tally) else Tally(tally)
    if holds(name, value, variable=True) or is_random(value):
        return tally.hit("variable", value)
    alone = masking(value, tally)
    if alone != value or not value.strip():
        return alone
    shown = masking(f"{name}={value}", tally)
    return shown[len(name) + 1 :] if shown.startswith(f"{name}=") else MASK


def _listed(text: str, tally: Tally) -> str:
    """Each part for itself as far as it is a variable; then as a line of arguments, where a value follows its flag."""
    parts: list[str] = []
    before = ""
    for part in text.split("\0"):
        if before[:1] == "-" and "=" not in before and part[:1] != "-" and holds(before, part):
            parts.append(tally.hit("flag", part))
            before = ""
            continue
        before = part
        name, sign, value = part.partition("=")
        parts.append(
            f"{name}={variable(name, value, tally)}" if sign and _NAME.fullmatch(name) else masking(part, tally)
        )
    line = "\x1f".join(parts)  # a sign that \s knows and that no argument holds
    if line.count("\x1f") != len(parts) - 1:
        return "\0".join(parts)
    line = arguments(places.flags(line, tally), tally)
    return line.replace("\x1f", "\0")


def _plain(text: str, tally: Tally) -> str:
    for shape in SHAPES:
        for hint in shape.hints:
            if hint in text:
                text = without(text, shape, tally)
                break
    if "@" in text or "?" in text:
        if ":/" in text or ":\\" in text or "?" in text:
            text = places.urls(text, tally)
        text = places.accounts(text, tally)
    low = text.lower()
    if not places.KEYWORD.search(low):
        return _rest(text, tally)
    text = places.logins(text, tally)
    if "stringData" in text or ("kind" in low and "Secret" in text):
        text = places.of_kubernetes(text, tally)
    if "value" in low:
        text = places.pairs(text, tally)
    if "=" in text or ":" in text:
        text = places.assigned(text, tally)
    if " " in text or "\t" in text:
        text = places.spaced(text, tally)
    if "</" in text:
        text = places.xml(text, tally)
    return _rest(text, tally)


def _rest(text: str, tally: Tally) -> str:
    if "-" in text or "/p" in text:
        text = places.flags(text, tally)
    if len(text) > 15:
        text = random_words(text, tally)
    return arguments(text, tally)
