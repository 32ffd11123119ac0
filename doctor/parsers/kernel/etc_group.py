"""Text of etc/group -> its groups. Files only: a directory service is never asked.

>>> read("root:x:0:\\nrender:x:109:alice,bob\\n")[1]
Group(name='render', gid=109, members=('alice', 'bob'))
"""

from __future__ import annotations

from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_LINES = 20_000
_MEMBERS = 1000


class Group(NamedTuple):
    name: str
    gid: int
    members: tuple[str, ...]


def read(text: str) -> tuple[Group, ...]:
    """Lines that are no group (comments, NIS `+::`) are passed over. Raises ParserError when none is one."""
    groups = []
    for line in text.splitlines()[:_LINES]:
        fields = line.split(":", 3)
        if len(fields) == 4 and fields[0] and fields[2].isascii() and fields[2].isdigit() and len(fields[2]) <= 10:
            members = tuple(clean(m, 64) for m in fields[3].split(",")[:_MEMBERS] if m.strip())
            groups.append(Group(clean(fields[0], 64), int(fields[2]), members))
    if not groups and text.strip():
        raise ParserError("no line of the form 'NAME:x:GID:MEMBERS': not etc/group")
    return tuple(groups)
