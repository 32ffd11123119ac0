"""Looks in a bundle for what redaction missed: runs it again over every file, and looks for the names, addresses and
serials that the reader's own machine knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from doctor.bundle.pack import CAPTURE
from doctor.redaction import Redactor
from doctor.redaction.secrets import masked
from doctor.redaction.stand_ins import COMMON

if TYPE_CHECKING:
    from doctor.bundle.open import Bundle

_NAMES = ("user", "host", "mail", "mac", "ipv4", "ipv6", "serial", "name")


class Missed(NamedTuple):
    """Kinds of secrets and of names in a file, never the values."""

    name: str
    kinds: dict[str, int]


def scan(bundle: Bundle, users: Iterable[str] = (), hosts: Iterable[str] = ()) -> list[Missed]:
    """The files that still hold something that looks like a secret, an address, a serial, a home or one of those names;
    empty when there is none."""
    redactor = Redactor(users, hosts)
    found = []
    for name, content in sorted(bundle.files.items()):
        kinds = _kinds(name, content, redactor)
        if kinds:
            found.append(Missed(name, dict(sorted(kinds.items()))))
    return found


def _kinds(name: str, content: bytes, redactor: Redactor) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in _texts(name, content):
        masked(text, counts)
        redactor.counts.clear()
        redactor.text(text)
        counts.update({kind: count for kind, count in redactor.counts.items() if kind in _NAMES})
    return counts


def _texts(name: str, content: bytes) -> Iterable[str]:
    """A recording's answers each for itself, as they were redacted; any other file as a whole."""
    text = content.decode("utf-8", "replace")
    if name != CAPTURE and not name.endswith(".json"):
        return [text]
    import json

    try:
        return [t for t in _inside(json.loads(text)) if t.strip() and t not in COMMON]
    except (ValueError, RecursionError):
        return [text]


def _inside(data: object) -> Iterable[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield str(key)
            yield from _inside(_decoded(value) if str(key).startswith("bytes:") else value)
    elif isinstance(data, list):
        for item in data:
            yield from _inside(item)


def _decoded(entry: object) -> object:
    """What a file's recorded bytes say: their base64 is no text, and any token may seem to stand in it."""
    import base64
    import binascii

    held = entry.get("value") if isinstance(entry, dict) else None
    if not isinstance(held, str):
        return entry
    try:
        return {**dict(entry), "value": base64.b64decode(held, validate=True).decode("utf-8", "replace")}  # type: ignore[call-overload]
    except binascii.Error:
        return entry
