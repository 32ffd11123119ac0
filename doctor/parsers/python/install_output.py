"""What pip, uv and `pip show` print of packages that they put in or found -> Python packages, and torch's build.

>>> read("Successfully installed numpy-2.4.6 torch-2.10.0+rocm7.13.0").get("torch.rocm")
'7.13.0'
>>> read(" - torch==2.5.1\\n + torch==2.6.0+cu124").get("torch.version")
'2.6.0+cu124'
>>> read("Name: torch\\nVersion: 2.4.0+cu121\\nSummary: x").get("torch.cuda")
'12.1'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts

PASTED = ({"trust": 480, "words": ("successfully installed", "already satisfied", " + ", "\n+ ", " ~ ", "name: ")},)

_WHEELS_A_LINE = 400
_WHEEL = re.compile(r"([A-Za-z0-9][\w.-]{0,99}?)-(\d[\w.+!]{0,60})$")
_ADDED = re.compile(r"\s{0,8}[+~] ([A-Za-z0-9][\w.-]{0,99})==(\d[\w.+!-]{0,60})(?: \(from \S{1,300}\))?\s*$")
_THERE = re.compile(
    r"\s{0,8}(?:\[[^\]]{0,40}\] )?Requirement already satisfied: ([A-Za-z0-9][\w.-]{0,99})\S{0,80} "
    r".{0,400}?\((\d[\w.+!-]{0,60})\)\s*$"
)
_NAME = re.compile(r"\s{0,4}Name: ([A-Za-z0-9][\w.-]{0,99})\s*$")
_VERSION = re.compile(r"\s{0,4}Version: (\d[\w.+!-]{0,60})\s*$")


def read(text: str, source: str = "text") -> FactSheet:
    """What was put in last is there. Raises ParserError without a package."""
    rows: dict[str, tuple[str, str]] = {}
    shown = ""
    for where, line in source_lines(text, source):
        for name, version in _pairs(line, shown):
            row = packages.package(name, version)
            if row and (row["name"] in rows or len(rows) < packages.LIMIT):
                rows[row["name"]] = (row["version"], where)
        named = _NAME.match(line) if "Name:" in line else None
        shown = named[1] if named else shown if line.strip().startswith(("Version:", "---")) else ""
    if not rows:
        raise ParserError("no installed package in the text")
    sheet = FactSheet()
    if "torch" in rows:
        for fact, value in build_facts(rows["torch"][0]).items():
            sheet.put(fact, value, rows["torch"][1])
    first = next(iter(rows.values()))[1]
    sheet.put("packages", [{"name": n, "version": v} for n, (v, _) in rows.items()], first)
    return sheet


def _pairs(line: str, shown: str) -> list[tuple[str, str]]:
    """Names and versions that one line tells; `shown` is the name that `pip show` gave on the line before."""
    if "Successfully installed " in line:
        words = line.partition("Successfully installed ")[2].split()[:_WHEELS_A_LINE]
        return [(found[1], found[2]) for word in words if (found := _WHEEL.match(word[:170]))]
    if "already satisfied" in line:
        there = _THERE.match(line[:900])
        return [(there[1], there[2])] if there else []
    if shown and (version := _VERSION.match(line)):
        return [(shown, version[1])]
    added = _ADDED.match(line) if "==" in line else None
    return [(added[1], added[2])] if added else []
