"""Every reader there is, found by walking doctor/parsers: functions of one text, one block of bytes or one table."""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from doctor import parsers
from doctor.errors import ParserError
from doctor.facts import FactSheet

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Reader(NamedTuple):
    """`takes` is `str` or `bytes`; `whole` marks the reader of a format, whose result must be clean."""

    name: str
    run: Callable[..., Any]
    takes: str
    whole: bool


def readers() -> list[Reader]:
    """Public functions whose one required parameter is a text or bytes."""
    return [
        Reader(f"{module}.{name}", function, takes, name.startswith("read"))
        for module in sorted(parsers.names())
        for name, function, takes in _functions(parsers.load(module))
    ]


def _functions(module: Any) -> Iterator[tuple[str, Callable[..., Any], str]]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ != module.__name__ or name.startswith("_"):
            continue
        asked = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if len(asked) == 1 and asked[0].annotation in ("str", "bytes"):
            yield name, function, asked[0].annotation


def try_on(reader: Reader, text: str) -> None:
    """Run it. Raises what the reader raises, but for ParserError, and AssertionError for an unclean value."""
    try:
        found = reader.run(text if reader.takes == "str" else text.encode("utf-8", "surrogatepass"))
    except ParserError:
        return
    if reader.whole:
        for word in words_of(found):
            assert not unclean(word), f"{reader.name} keeps {word[:80]!r}"


def unclean(word: str) -> bool:
    """Holds a control character other than a tab, or one that turns the direction of text."""
    if word.isprintable():
        return False
    return any(c in BIDI or (c != "\t" and unicodedata.category(c) == "Cc") for c in word)


def words_of(found: Any) -> Iterator[str]:
    """Every text in a result: of sheets the names, values and sources."""
    stack = [found]
    while stack:
        here = stack.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, FactSheet):
            for entry in here:
                stack += [entry.name, entry.value, entry.source]
        elif isinstance(here, Mapping):
            stack += [*here.keys(), *here.values()]
        elif isinstance(here, (list, tuple, set, frozenset)):
            stack += here
