"""Limits as `ulimit -a`, `df` and messages show them -> locked memory, open files, size of /dev/shm.

>>> read("max locked memory       (kbytes, -l) 64").get("host.memlock_bytes")
65536
>>> read("shm              64M   63M  1.0M  99% /dev/shm").get("host.shm_bytes")
67108864
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {
        "trust": 520,
        "words": ("max locked memory", "open files", "dev/shm", "memlock", "limitnofile", "file descriptor limit"),
    },
    {
        "trust": 530,
        "commands": ("ulimit -l", "ulimit -sl", "ulimit -hl"),
        "call": "read_ulimit_l",
        "takes_command": True,
    },
)

_MEMLOCK = re.compile(
    r".{0,60}?max locked memory\s{1,20}\(?(?P<unit>kbytes|bytes)?,?[^)]{0,12}\)?:?\s{1,20}(?P<value>unlimited|\d{1,15})"
)
_ASKS = re.compile(r"\bulimit -[HS]?l\b\s*(?:$|[|;&\"'])")
_ANSWER = re.compile(r"\s{0,8}(?P<value>unlimited|\d{1,15})\s*$")
_MEMLOCK_SAID = re.compile(
    r".{0,60}?(?:max(?:imum)? locked memory|memlock)\b[^\d\n]{0,20}(?P<value>\d{1,9}) ?(?P<unit>[KMG])i?B\b",
    re.IGNORECASE,
)
_UNIT_LIMIT = re.compile(r".{0,60}?\bLimit(?P<name>MEMLOCK|NOFILE)=(?P<value>infinity|\d{1,15})\b")
_RLIMIT = re.compile(r".{0,120}?RLIMIT_MEMLOCK(?: is| =|:|=)?\s{1,3}(?P<value>\d{1,15})")
_NOFILE = re.compile(r".{0,60}?open files:?\s{1,30}(?:\(-n\))?:?\s{0,20}(?P<value>\d{1,12})\b")
_DESCRIPTORS = re.compile(r".{0,120}?file descriptor limit is too low: (?P<value>\d{1,12})")
_SHM = re.compile(r"\s{0,8}\S{0,60}\s{1,80}(?P<size>\d{1,6}(?:\.\d)?)(?P<unit>[KMGT])(?:i?B)?\s.{0,60}/dev/shm\s*$")
_SHM_SAID = re.compile(
    r".{0,60}?/dev/shm(?: size)?(?: (?:in|inside|of) (?:the|this|each|every|my) (?:container|pod|worker|job))?"
    r"(?: is| was| has| holds| only|:| ?=)?\s{0,3}(?:only |just )?(?:(?:shm|tmpfs) {1,20})?"
    r"(?P<size>\d{1,6}(?:\.\d)?) ?(?P<unit>[KMGT])i?B?\b",
    re.IGNORECASE,
)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without any limit."""
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if len(line) < 600:
            _one(sheet, where, line)
    if not len(sheet):
        raise ParserError("no limit in the text")
    return sheet


def read_ulimit_l(text: str, source: str = "text", *, command: str = "ulimit -l") -> FactSheet:
    """The answer to `ulimit -l`, in KiB; one that sets the limit has none.

    >>> read_ulimit_l("8192").get("host.memlock_bytes")
    8388608
    """
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if (found := _ANSWER.match(line)) and _ASKS.search(command):
            value = found["value"]
            sheet.put("host.memlock_bytes", -1 if value == "unlimited" else int(value) << 10, where)
            return sheet
    raise ParserError("no limit in the text")


def _one(sheet: FactSheet, where: str, line: str) -> None:
    if found := _MEMLOCK.match(line):
        unlimited = found["value"] == "unlimited"
        factor = 1 if found["unit"] == "bytes" else 1024
        sheet.put("host.memlock_bytes", -1 if unlimited else int(found["value"]) * factor, where)
    elif found := _MEMLOCK_SAID.match(line):
        sheet.put("host.memlock_bytes", int(found["value"]) * _UNITS[found["unit"].upper()], where)
    elif found := _UNIT_LIMIT.match(line):
        name = "host.memlock_bytes" if found["name"] == "MEMLOCK" else "host.nofile"
        sheet.put(name, -1 if found["value"] == "infinity" else int(found["value"]), where)
    elif found := _RLIMIT.match(line):
        sheet.put("host.memlock_bytes", int(found["value"]), where)
    elif found := _NOFILE.match(line) or _DESCRIPTORS.match(line):
        sheet.put("host.nofile", int(found["value"]), where)
    elif "dev/shm" in line and (found := _SHM.match(line) or _SHM_SAID.match(line)):
        if line.split()[0] == "shm":  # container engines mount it under this name; a host's own is called tmpfs
            sheet.put("container.inside", True, where)
        sheet.put("host.shm_bytes", int(float(found["size"]) * _UNITS[found["unit"].upper()]), where)
