"""Output of `id`, or of `groups` -> the account and its groups.

>>> sheet = read("uid=1000(ann) gid=1000(ann) groups=1000(ann),44(video)")
>>> sheet.get("account.member_of"), sheet.get("account.gids")
(['ann', 'video'], [1000, 44])
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import kept, source_lines

_ID = re.compile(
    r"(?:[^=]{0,60}[:>(] ?|\s{0,8})uid=(\d{1,10})(?:\(([^)]{1,64})\))? gid=(\d{1,10})(?:\(([^)]{0,64})\))?"
    r"(?: groups=(.{0,4000}))?"
)
_GROUP = re.compile(r"(?:^|,)(\d{1,10})(?:\(([^,]{0,120})\))?")
_GROUPS = re.compile(r"\s{0,8}(?:[-*] )?groups:\s{1,4}([a-z_][a-z0-9_ ,$-]{1,400})$")
_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}\$?$")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without an `id` line. A group whose name is no name keeps its number only."""
    for where, line in source_lines(text, source):
        found = _ID.match(line)
        if not found:
            continue
        sheet = FactSheet()
        sheet.put("account.uid", int(found[1]), where)
        sheet.put("account.gid", int(found[3]), where)
        if found[2]:
            sheet.put("account.user", kept(found[2], 64), where)
        pairs = [(int(n), name) for n, name in _GROUP.findall(found[5] or "")][:200]
        if pairs:
            sheet.put("account.gids", [n for n, _ in pairs], where)
            sheet.put("account.member_of", [name for _, name in pairs if _NAME.match(name)], where)
        return sheet
    raise ReaderError("no line of `id` in the text")


def read_groups(text: str, source: str = "text") -> FactSheet:
    """Output of `groups`: names alone. Raises ReaderError where the first line is no list of names."""
    for where, line in source_lines(text, source):
        names = line.rpartition(" : ")[2].split()[:200]
        if not names:
            continue
        if all(_NAME.match(name) for name in names):
            sheet = FactSheet()
            sheet.put("account.member_of", names, where)
            return sheet
        break
    raise ReaderError("no list of groups in the text")


def read_group_line(text: str, source: str = "text") -> FactSheet:
    """`groups: rocm-user sudo video`, as people write it. Raises ReaderError without such a line."""
    for where, line in source_lines(text, source):
        found = _GROUPS.match(line)
        names = re.split(r"[ ,]{1,3}", found[1].strip())[:200] if found else []
        if names and all(_NAME.match(name) for name in names):
            sheet = FactSheet()
            sheet.put("account.member_of", names, where)
            return sheet
    raise ReaderError("no line of groups in the text")
