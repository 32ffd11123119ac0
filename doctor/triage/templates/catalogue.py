"""All templates, and which of them a text holds."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from doctor.facts.snapshot import Snapshot
from doctor.triage.literals import Literals
from doctor.triage.templates.model import Cause, Template
from doctor.triage.templates.pattern import compiled, normal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).parent / "data"
BLOCK_CHARACTERS = 1 << 16
TEXT_CHARACTERS = 300
"""Of a line that is quoted."""
SECONDS = 5.0
"""Processor time that looking for templates may take in one text."""
_MATCHES = 20
_BEFORE = 60
"""Characters of a long line that are quoted before the match."""
_STOCK = "This can potentially cause a hang if this rank to GPU mapping is incorrect"
"""torch warns of this at every start without a device id, and nothing hangs by it (ProcessGroupNCCL.cpp)."""
_CONTROL = dict.fromkeys(
    (
        *range(9),
        *range(11, 32),
        *range(127, 160),
        0x61C,
        0x200E,
        0x200F,
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    ),
    " ",
)
"""Characters that a terminal or a browser obeys, those that turn the direction of writing among them."""


class Hit(NamedTuple):
    """A template seen: its id, the line it is on (from 1) and that line's text."""

    key: str
    line: int
    text: str


_ID = re.compile(r'^id = "([^"]*)"$', re.MULTILINE)
_TEXT = re.compile(r"^text = (\".*\"|'.*')$", re.MULTILINE)


class Templates(Mapping[str, Template]):
    """The templates by id, in order. A text needs few: of the others no more than id and text is read.
    Raises ValueError when two share an id."""

    def __init__(self) -> None:
        self._rows: dict[str, str] = {}
        self._read: dict[str, Template] = {}
        self.texts: list[str] = []
        for path in sorted(DATA.glob("*.toml")):
            for row in path.read_text("utf-8").split("[[template]]\n")[1:]:
                found, written = _ID.search(row), _TEXT.search(row)
                if not found or not written:
                    raise ValueError(f"{path.name}: a template without an id or a text in one line: {row[:60]!r}")
                key, text = found[1], written[1]
                if key in self._rows:
                    raise ValueError(f"{path.name}: template id {key} is used twice")
                self._rows[key] = row
                self.texts.append(text[1:-1] if "\\" not in text else tomllib.loads(f"text = {text}")["text"])

    def __getitem__(self, key: str) -> Template:
        if key not in self._read:
            self._read[key] = Template.model_validate(tomllib.loads(self._rows[key]))
        return self._read[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Catalogue:
    """The templates, and which of them a text holds."""

    def __init__(self) -> None:
        self.templates = Templates()

    def causes(self, key: str, machine: Snapshot) -> list[Cause]:
        """What an error text points to on this machine; the catalogue's order."""
        template = self.templates.get(key)
        return [cause for cause in template.causes if cause.holds(machine)] if template else []

    def find(self, lines: Iterable[tuple[int, str]], skipped: list[str] | None = None) -> list[Hit]:
        """A line of each template that the text shows, in the text's order. Where the processor time is spent the rest
        is not looked at, and `skipped` says from which line on."""
        seen: set[str] = set()
        hits: list[Hit] = []
        started = time.thread_time()
        for block in _blocks(lines):
            if time.thread_time() - started > SECONDS:
                if skipped is not None:
                    skipped.append(f"error texts were not looked for after line {block[0][0]}: out of time")
                break
            plain = [normal(text) for _, text in block]
            for template in self._near(plain, seen):
                found = ((n, at) for n, line in enumerate(plain) if (at := template.pattern.place_in(line)) is not None)
                if shown := _best(plain, found):
                    number, text = block[shown[0]]
                    hits.append(Hit(template.id, number, _quote(text.translate(_CONTROL).strip(), shown[1])))
                    seen.add(template.id)
        return sorted(hits, key=lambda hit: hit.line)

    def _near(self, lines: list[str], seen: set[str]) -> list[Template]:
        """Templates whose longest literal is in the lines, in the catalogue's order."""
        keys, places = self._anchors
        near = sorted({place for there in places.within("\n".join(lines)) for place in there})
        return [self.templates[keys[place]] for place in near if keys[place] not in seen]

    @cached_property
    def _anchors(self) -> tuple[list[str], Literals[list[int]]]:
        """The ids, and the longest literals with the places of those that have them."""
        anchors: dict[str, list[int]] = {}
        for place, text in enumerate(self.templates.texts):
            anchors.setdefault(compiled(text).anchor, []).append(place)
        return list(self.templates), Literals(anchors)


def _best(plain: list[str], found: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """Line and place of the first match that a program wrote: no heading, and no word of a sentence before it. Else of
    the first match. A few are looked at."""
    first = None
    for number, at in itertools.islice(found, _MATCHES):
        first = first or (number, at)
        line = plain[number]
        if not line.startswith("#") and not line[max(at - 2, 0) : at].strip("`'\"").rstrip().isalnum():
            return number, at
    return first


def _quote(text: str, at: int) -> str:
    """The line, or what of a long one is around the match."""
    half, start = TEXT_CHARACTERS // 2, 0
    if len(text) > TEXT_CHARACTERS and at > half:
        start = max(text.rfind(" ", 0, at - _BEFORE) + 1, at - half)
    return ("… " if start else "") + text[start : start + TEXT_CHARACTERS].lstrip("# ")


@cache
def shared() -> Catalogue:
    return Catalogue()


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    size = 0
    for number, text in lines:
        block.append((number, text.replace(_STOCK, "")))
        size += len(text)
        if size > BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
