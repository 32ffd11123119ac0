"""A systemd unit, the environment that a server logs at its start, or a command that asks for a service's environment
-> what the service was given.

>>> read("[Service]\\nExecStart=/bin/x\\nEnvironment=A_B=1").get("service_environment")
{'A_B': '1'}
>>> read('/etc/systemd/system/a.service.d/override.conf:Environment="A_B=1"').get("service_environment")
{'A_B': '1'}
>>> read('server config env="map[CUDA_VISIBLE_DEVICES: OLLAMA_DEBUG:false]"').get("service_environment")
{'OLLAMA_DEBUG': 'false'}
>>> read_shown("Environment=PATH=/bin A_B=1", command="systemctl show x -p Environment").get("service_environment")
{'PATH': '/bin', 'A_B': '1'}
"""

from __future__ import annotations

import re
import shlex

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {"trust": 560, "words": ("[service]", "server config", "systemctl", "environ", "gpu_type=gfx", "compute=gfx")},
    {"trust": 570, "commands": ("systemctl",), "call": "read_shown", "takes_command": True},
)

_MAP = re.compile(r"server config\"? env=\"?map\[(?P<pairs>[^\]]{0,6000})")
_CUT = re.compile(
    r"\s{0,8}(?P<pairs>(?:[A-Z][A-Z0-9_]{3,60}:\S{0,200} ){1,30}OLLAMA_[A-Z_]{2,40}:\S{0,200}(?: .{0,2000})?)"
)
"""A piece of that map, as grep left it."""
_PAIR = re.compile(r"(?:(?<=\s)|^)([A-Za-z][A-Za-z0-9_]{1,80}):(?!//)")
_VARIABLE = re.compile(r"\s{0,8}Environment=[\"']?(?P<name>[A-Za-z_][A-Za-z0-9_]{1,80})=(?P<value>[^\"']{0,300})")
_DROP_IN = re.compile(
    r"\s{0,8}/(?:etc|run|usr/lib|lib)/systemd/(?:system|user)/[\w@.-]{1,80}\.service(?:\.d/[\w@.-]{1,80}\.conf)?:"
    r"(?:\d{1,5}:)?\s{0,4}Environment=[\"']?(?P<name>[A-Za-z_][A-Za-z0-9_]{1,80})=(?P<value>[^\"']{0,300})"
)
"""A line of a unit's file behind the file's path, as `grep -r` prints it and people write it."""
_SEEN = re.compile(r".{0,400}?\b(?:gpu_type|compute)=(?P<arch>gfx\d{1,2}[0-9a-f]{2})\b")
_ASKED = re.compile(
    r"(?:.{0,200}?[\s\"'])?systemctl (?:--user )?(?:cat|show) [^|]{1,200}"
    r"(?:\| {0,2}(?:e|z)?grep (?:-\w{1,6} ){0,3}[\"']?\^?environ(?:ment)?=?[\"']?)?\s{0,4}$",
    re.IGNORECASE,
)
"""Asks for a unit, whole or by its environment alone; another filter leaves variables out."""
_ONE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{1,80}")
_LIMIT = 400


def read(text: str, source: str = "text") -> FactSheet:
    """A unit counts where it is shown with what it starts, or with its variables; an empty value is none. Raises
    ParserError without either."""
    sheet = FactSheet()
    unit: dict[str, str] = {}
    section = started = dropped = ""
    for where, line in source_lines(text, source):
        if "OLLAMA_" in line and ":" in line and (cut := _CUT.fullmatch(line)):
            _logged(sheet, where, cut["pairs"])
        elif "server config" in line and (found := _MAP.search(line)):
            _logged(sheet, where, found["pairs"])
        elif "=gfx" in line and (found := _SEEN.match(line)):
            sheet.put("gpus[#0].vendor", "amd", where)
            sheet.put("gpus[#0].arch", found["arch"], where)
        elif "/systemd/" in line and len(unit) < _LIMIT and (found := _DROP_IN.match(line)):
            unit[found["name"]] = kept(found["value"], 300)
            dropped = dropped or where
        elif line.strip() == "[Service]":
            section = where
        elif section and line.lstrip().startswith("ExecStart="):
            started = where
        elif section and len(unit) < _LIMIT and (found := _VARIABLE.match(line)):
            unit[found["name"]] = kept(found["value"], 300)
    if started or dropped or (section and unit):
        sheet.put("service_environment", unit, section or dropped)
    if not len(sheet):
        raise ParserError("no unit and no logged environment in the text")
    return sheet


def read_shown(text: str, source: str = "text", command: str = "") -> FactSheet:
    """What `systemctl cat` or `show` prints of a unit's environment, several assignments to a line where it quotes each
    by itself. `text` is the line at the prompt where nothing was printed. Raises ParserError where something else was
    asked for."""
    sheet = FactSheet()
    silent = command.strip() in ("", text.strip())
    if _ASKED.match((command or text).strip()) is None or (silent and "grep" not in text):
        raise ParserError("no question for a service's environment")
    given: dict[str, str] = {}
    shown = ""
    for where, line in source_lines(text, source):
        name, sign, rest = line.strip().partition("=")
        if silent or (name == "Environment" and sign):
            shown = shown or where
        if name == "Environment" and not silent:
            for word in _words(rest):
                variable, has, value = word.partition("=")
                if has and _ONE.fullmatch(variable) and len(given) < _LIMIT:
                    given[variable] = kept(value, 300)
    if not shown:
        raise ParserError("no environment of a service in the text")
    sheet.put("service_environment", given, shown)
    return sheet


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line[:4000])
    except ValueError:
        return line[:4000].split()


def _logged(sheet: FactSheet, where: str, pairs: str) -> None:
    """Go's map: `A:1 B: C:x y`."""
    marks = list(_PAIR.finditer(pairs))[:_LIMIT]
    given: dict[str, str] = {}
    for position, mark in enumerate(marks):
        end = marks[position + 1].start() if position + 1 < len(marks) else len(pairs)
        value = pairs[mark.end() : end].strip()
        if value and mark[1].isupper():
            given[mark[1]] = kept(value, 300)
    sheet.put("service_environment", given, where)
    for name, value in given.items():
        if not name.startswith("OLLAMA_"):
            sheet.put(f"environment[{name}]", value, where)
