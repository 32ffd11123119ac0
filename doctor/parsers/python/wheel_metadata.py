"""A package's METADATA -> what it requires. Only the head is read; the description behind it is not.

>>> read("Metadata-Version: 2.1\\nName: torchvision\\nVersion: 0.19.1\\nRequires-Python: >=3.8\\n"
...      "Requires-Dist: torch (==2.4.1)\\nRequires-Dist: scipy ; extra == 'scipy'\\n\\nlong text")
Metadata(name='torchvision', version='0.19.1', requires_python='>=3.8', requires=('torch (==2.4.1)',))
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_FIELD = re.compile(r"^([A-Za-z][A-Za-z\-]{1,40}): ?(.{0,2000})$")
_EXTRA = re.compile(r";.{0,1000}?\bextra\s{0,4}==")
_END = re.compile(rb"\n\r?\n")
_MOST_LINES = 3000
_MOST = 300


class Metadata(NamedTuple):
    """`requires` leaves out what only an extra asks for."""

    name: str | None
    version: str | None
    requires_python: str | None
    requires: tuple[str, ...]


def read_head(raw: bytes) -> Metadata:
    """Of a file's beginning, as bytes: the description is not decoded."""
    return read(_END.split(raw, maxsplit=1)[0].decode("utf-8", "replace"))


def read(text: str) -> Metadata:
    """Raises ParserError for a text without `Metadata-Version:`."""
    fields: dict[str, str] = {}
    requires: list[str] = []
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        match = _FIELD.match(line.rstrip("\r")[:2100])
        if match is None:
            if line.rstrip("\r"):
                continue  # a continued line; that of a licence may hold blanks alone
            break
        name, value = match[1].lower(), clean(match[2], 400)
        if name != "requires-dist":
            fields.setdefault(name, value)
        elif not _EXTRA.search(value) and len(requires) < _MOST:
            requires.append(value)
    if "metadata-version" not in fields:
        raise ParserError("no Metadata-Version: not a package's metadata")
    return Metadata(fields.get("name"), fields.get("version"), fields.get("requires-python") or None, tuple(requires))
