"""Secrets behind an encoding: percent signs, HTML and backslash escapes, base64 (at any alignment, wrapped, of UTF-16 or
gzip), hexadecimal. A run whose decoded text holds a secret goes as a whole.
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Iterator

from doctor.redaction.lazy import Lazy
from doctor.redaction.tally import Tally, masked

_WORD = Lazy(r"[^\s\"'<>`]+")
_PERCENT = Lazy(r"%[0-9A-Fa-f]{2}")
_ESCAPE = Lazy(r"\\(?:u\{?[0-9a-fA-F]{2,6}\}?|x[0-9a-fA-F]{2}|0?[0-7]{2,3})")
_BASE64 = Lazy(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,400000}={0,2}")
_WRAPPED = Lazy(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40,128}(?:(?:\\r)?(?:\\n|\r?\n)[ \t|>]{0,40})){1,20000}[A-Za-z0-9+/]{1,128}={0,2}"
)
_BREAK = Lazy(r"(?:\\r)?\\n|[\s|>]+")
_HEX = Lazy(
    r"(?<![0-9a-fA-F])(?:\\x|0x)?(?:[0-9a-f]{2}){10,20000}(?![0-9a-fA-F])|(?<![0-9a-fA-F])(?:[0-9A-F]{2}){10,20000}(?![0-9a-fA-F])"
)
_PRINTABLE = Lazy(r"[\x20-\x7e\r\n\t\0]{10,}")
_CREDENTIALS = Lazy(r"[\w.+@-]{1,64}:[^\s:]{6,}")
_UNPACKED = 1 << 20

Holds = Callable[[str], bool]
"""Whether a text holds a secret."""


def encoded(text: str, tally: Tally, holds: Holds) -> str:
    """With each such run masked."""
    if "%" in text and _PERCENT.search(text):
        text = _each(_WORD, text, tally, holds, _percent)
    if "&#" in text or "&quot;" in text or "&amp;" in text:
        text = _each(_WORD, text, tally, holds, _html)
    if "\\" in text and _ESCAPE.search(text):
        text = _each(_WORD, text, tally, holds, _escaped)
    if "\n" in text or "\\n" in text:
        text = _each(_WRAPPED, text, tally, holds, _wrapped)
    text = _each(_BASE64, text, tally, holds, _aligned)
    return _each(_HEX, text, tally, holds, _hexadecimal)


def _each(pattern: Lazy, text: str, tally: Tally, holds: Holds, decoded: Callable[[str], Iterator[str]]) -> str:
    runs = (found for found in pattern.finditer(text) if any(x != found[0] and holds(x) for x in decoded(found[0])))
    return masked(text, (found.span() for found in runs), "encoded", tally)


def _percent(run: str) -> Iterator[str]:
    if "%" in run:
        from urllib.parse import unquote, unquote_plus

        yield unquote_plus(run) if "+" in run else unquote(run)
        if "%25" in run:
            yield unquote(unquote(run))


def _html(run: str) -> Iterator[str]:
    if "&" in run:
        import html

        yield html.unescape(run)


def _escaped(run: str) -> Iterator[str]:
    if "\\" in run:
        yield _ESCAPE.sub(lambda m: _sign(m[0]), run)


def _sign(escape: str) -> str:
    digits = escape.lstrip("\\ux{").rstrip("}")
    number = int(digits, 16 if escape[1] in "ux" else 8)
    return chr(number) if 0 < number < 0x110000 else "?"


def _wrapped(run: str) -> Iterator[str]:
    yield from _aligned(_BREAK.sub("", run))


def _aligned(run: str) -> Iterator[str]:
    """What the run says as base64, from each of the four places where a group of it may begin."""
    if run.islower() or run.isupper() or run.isdigit():
        return
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    few = 2 + len(body) // 20
    if body.count("/") > few or body.count("+") > few:
        return  # a path, or words with dashes
    whole = _bytes(body)
    if whole is not None and (text := _ascii(whole)) is not None:
        yield f"https://{text}@x/" if _CREDENTIALS.fullmatch(text) else text
        return
    if len(body) < 24:
        return
    for start in range(4):
        raw = _bytes(body[start:])
        yield from _printable(raw or b"")


def _bytes(body: str) -> bytes | None:
    whole = len(body) - (len(body) % 4 == 1)
    try:
        return base64.b64decode(body[:whole] + "=" * (-whole % 4))
    except binascii.Error:
        return None


def _ascii(raw: bytes) -> str | None:
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\r\n\t" for c in text) else None


def _printable(raw: bytes) -> Iterator[str]:
    """The parts of bytes that are text; of UTF-16 and of gzip too."""
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = zlib.decompressobj(wbits=31).decompress(raw, _UNPACKED)
        except zlib.error:
            return
    if raw.count(0) * 3 > len(raw):
        raw = raw.replace(b"\0", b"")
    yield from (found[0] for found in _PRINTABLE.finditer(raw.decode("latin-1")))


def _hexadecimal(run: str) -> Iterator[str]:
    raw = bytes.fromhex(run.removeprefix("\\x").removeprefix("0x"))
    text = _ascii(raw)
    if text is not None:
        yield text


def in_base64(raw: bytes) -> Iterator[str]:
    """The signs that only these bytes decide, where they begin 0, 1 or 2 bytes into a group of three."""
    for shift, first in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        yield text[first : len(text) - (1 if (len(raw) + shift) % 3 else 0)]
