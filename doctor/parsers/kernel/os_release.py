"""Text of etc/os-release -> its assignments, in the shell-like form that os-release(5) allows.

>>> read('ID=ubuntu\\nVERSION_ID="22.04"\\n# a comment\\n')
{'ID': 'ubuntu', 'VERSION_ID': '22.04'}
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.printable import clean

PASTED = ({"trust": 380, "words": ("pretty_name=", "version_id="), "call": "read_pasted"},)

_LINE = re.compile(r"^\s*([A-Z][A-Z0-9_]{0,63})=(.*)$")
_ESCAPE = re.compile(r"\\([\"'$`\\])")
_LINES = 400
_VALUE = 300


def read(text: str) -> dict[str, str]:
    """Name → value without its quotes. Raises ParserError when there is no assignment at all."""
    values: dict[str, str] = {}
    for line in text.splitlines()[:_LINES]:
        if match := _LINE.match(line[:2000]):
            values.setdefault(match[1], clean(_unquote(match[2].strip()), _VALUE))
    if not values:
        raise ParserError("no NAME=value line: not an os-release file")
    return values


FACTS = {
    "ID": "os.id", "VERSION_ID": "os.version", "PRETTY_NAME": "os.name", "ID_LIKE": "os.id_like",
    "UBUNTU_CODENAME": "os.ubuntu_codename",
}  # fmt: skip


def read_pasted(text: str, source: str = "text") -> FactSheet:
    """Facts of a pasted etc/os-release. Raises ParserError without PRETTY_NAME and VERSION_ID: ID= is anything."""
    sheet = FactSheet()
    for number, line in enumerate(text.split("\n")[:_LINES], 1):
        match = _LINE.match(line[:2000])
        value = clean(_unquote(match[2].strip()), _VALUE) if match else ""
        if match and value and match[1] in FACTS:
            sheet.put(FACTS[match[1]], value.lower() if match[1] == "ID" else value, f"{source}:{number}")
    if not (sheet.get("os.version") or sheet.get("os.name")):
        raise ParserError("no os-release in the text")
    return sheet


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return _ESCAPE.sub(r"\1", value)
