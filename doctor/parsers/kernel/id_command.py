"""Output of `id`, or of `groups` -> the account and its groups.

>>> sheet = read("uid=1000(ann) gid=1000(ann) groups=1000(ann),44(video)")
>>> sheet.get("account.member_of"), sheet.get("account.gids")
(['ann', 'video'], [1000, 44])
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {"trust": 170, "words": ("uid=",)},
    {"trust": 180, "words": ("groups:",), "call": "read_group_line"},
    {"trust": 190, "commands": ("groups",), "call": "read_groups"},
)

_ID = re.compile(
    r"(?:[^=]{0,60}[:>(] ?|\s{0,8})uid=(\d{1,10})(?:\(([^)]{1,64})\))? gid=(\d{1,10})(?:\(([^)]{0,64})\))?"
    r"(?: groups=(.{0,4000}))?"
)
_GROUP = re.compile(r"(?:^|,)(\d{1,10})(?:\(([^,]{0,120})\))?")
_GROUPS = re.compile(r"\s{0,8}(?:[-*] )?groups:\s{1,4}([a-z_][a-z0-9_ ,$-]{1,400})$")
_GROUP_TEXT = re.compile(r"\d{1,10}\(([^()]{0,200})\)")
_MEMBER = re.compile(
    r"(?:[\w ]{0,60}\b(?:in|of|to|has|joined) )?(?:both )?(?:the )?(?:groups? )?"
    r"((?:render|video|docker|kvm|sudo|wheel|audio)"
    r"(?:(?:, and |, | and | & |,|;|/|\+| )(?:render|video|docker|kvm|sudo|wheel|audio)){0,6})(?: groups?)?(?: only)?",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|no|never|neither|nor|without|lacks?|missing|outside|except|other|owner|gid|id|nodes?|devices?|host)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}\$?$")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without an `id` line. A group whose name is no name keeps its number only."""
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
            names = [name for _, name in pairs if _NAME.match(name)]
            more = [name for text in _GROUP_TEXT.findall(found[5] or "") for name in _member_of(text)]
            sheet.put("account.member_of", [*names, *(name for name in more if name not in names)], where)
        return sheet
    raise ParserError("no line of `id` in the text")


def _member_of(text: str) -> list[str]:
    """`ann is member of render and video`, where the name of a group stands: who writes so tells of the account."""
    found = _MEMBER.fullmatch(text.strip()) if " " in text and not _NEGATED.search(text) else None
    return [name for name in re.findall(r"[a-z]{3,8}", found[1].lower()) if name != "and"] if found else []


def read_groups(text: str, source: str = "text") -> FactSheet:
    """Output of `groups`: names alone. Raises ParserError where the first line is no list of names."""
    for where, line in source_lines(text, source):
        names = line.rpartition(" : ")[2].split()[:200]
        if not names:
            continue
        if all(_NAME.match(name) for name in names):
            sheet = FactSheet()
            sheet.put("account.member_of", names, where)
            return sheet
        break
    raise ParserError("no list of groups in the text")


def read_group_line(text: str, source: str = "text") -> FactSheet:
    """`groups: rocm-user sudo video`, as people write it. Raises ParserError without such a line."""
    for where, line in source_lines(text, source):
        found = _GROUPS.match(line)
        names = re.split(r"[ ,]{1,3}", found[1].strip())[:200] if found else []
        if names and all(_NAME.match(name) for name in names):
            sheet = FactSheet()
            sheet.put("account.member_of", names, where)
            return sheet
    raise ParserError("no line of groups in the text")
