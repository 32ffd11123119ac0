"""Text of etc/passwd -> uid → (name, gid). Nothing else of it is kept.

>>> read("root:x:0:0:root:/root:/bin/bash\\nalice:x:1000:1000::/home/alice:/bin/sh\\n")[1000]
User(name='alice', gid=1000)
"""

from __future__ import annotations

from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_LINES = 20_000


class User(NamedTuple):
    name: str
    gid: int


def read(text: str) -> dict[int, User]:
    """The first line of a uid counts, as for the C library. Raises ParserError when no line is an account."""
    users: dict[int, User] = {}
    for line in text.splitlines()[:_LINES]:
        fields = line.split(":", 6)
        if len(fields) >= 6 and fields[0] and all(f.isascii() and f.isdigit() and len(f) <= 10 for f in fields[2:4]):
            users.setdefault(int(fields[2]), User(clean(fields[0], 64), int(fields[3])))
    if not users and text.strip():
        raise ParserError("no line of the form 'NAME:x:UID:GID:…': not etc/passwd")
    return users
