"""Secrets that were met once under a name, found again wherever they are without it, as they are or encoded: in a
log, in a command line, in base64 at any of its three alignments.
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import quote, quote_plus

from doctor.redaction.encoded import in_base64
from doctor.redaction.lazy import Lazy
from doctor.redaction.tally import MASK, Tally

MOST = 1000
"""Values that are looked for; each costs a search of every text."""
_SHORTEST = 8
_MANY = 200
"""Forms: to search for each of more costs more than to look at each place of the text."""
_NO_SECRET = Lazy(
    r"(?i)[a-z]+|\d{1,11}|(?:[a-z]{2,20}[-_.:/ ]){0,6}v?\d{1,4}(?:\.\d{1,5}){1,5}(?:[-+_.a-z0-9]{0,20})|/[\w./@+-]*|~/.*"
    r"|[a-z0-9-]{1,40}(?:\.[a-z0-9-]{1,40}){1,5}(?::\d{1,5})?|gfx[0-9a-f]{3,4}.{0,30}|sm_\d{2,3}|cuda:\d+"
    r"|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d|(?:[a-z]{1,20}[-_ ]){1,8}[a-z]{1,20}|https?://.*|[0-9a-f]{1,7}"
    r"|[0-9,;:. -]+|[a-z]{2,12}[-_]?\d{1,4}"
)
"""What people give as a value under a secret's name and what is elsewhere a fact: words, versions, paths, addresses."""


class Known:
    """The values, each in the forms in which it may stand elsewhere."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._forms: dict[str, dict[str, None]] = {}
        """By what they begin with."""
        bare = (value.strip().strip("\"'") for value in values)
        telling = (v for v in bare if len(v) >= _SHORTEST and v[:7] != MASK[:-1] and not may_be_plain(v))
        for form in (form for value in islice(telling, MOST) for form in _forms(value) if len(form) >= _SHORTEST):
            self._forms.setdefault(form[:_SHORTEST], {})[form] = None

    def masked(self, text: str, tally: Tally) -> str:
        """The text without them, the longest first."""
        begins: Iterable[str] = self._forms
        if len(self._forms) > _MANY:
            begins = (text[place : place + _SHORTEST] for place in range(len(text) - _SHORTEST + 1))
        found = {form for begin in begins for form in self._forms.get(begin, ())}
        for form in sorted(found, key=lambda form: (-len(form), form)):
            if form in text:
                for _ in range(text.count(form)):
                    tally.hit("known", form)
                text = text.replace(form, MASK)
        return text


def may_be_plain(value: str) -> bool:
    """Whether it may as well be a word, a version, a path or an address."""
    return bool(_NO_SECRET.fullmatch(value))


def _forms(value: str) -> Iterator[str]:
    yield value
    yield from (quote(value, safe=""), quote(value), quote_plus(value), quote(value, safe="").lower())
    yield from (json.dumps(value)[1:-1], json.dumps(json.dumps(value)[1:-1])[1:-1], value.replace("/", "\\/"))
    yield value.replace("'", "'\\''")
    yield "".join(c if c.isalnum() or c in "@%+=:,./-_" else f"\\{c}" for c in value)
    yield from (value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;"), value.replace('"', '""'))
    raw = value.encode("utf-8", "replace")
    yield from (raw.hex(), raw.hex().upper(), "".join(f"\\x{b:02x}" for b in raw), "".join(f"%{b:02X}" for b in raw))
    yield "".join(f"\\u{ord(c):04x}" for c in value)
    for form in in_base64(raw):
        yield from (form, form.replace("+", "-").replace("/", "_"))


def each_text(data: Any, change: Callable[[str], str]) -> Any:
    """Plain data with every text changed, keys too."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, Mapping):
        return {change(str(name)): each_text(value, change) for name, value in data.items()}
    return [each_text(item, change) for item in data] if isinstance(data, (list, tuple)) else data
