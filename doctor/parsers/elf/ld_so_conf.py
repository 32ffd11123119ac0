"""Text of etc/ld.so.conf or a file of ld.so.conf.d -> its folders and the patterns that it includes.

>>> read("include ld.so.conf.d/*.conf\\n/opt/rocm/lib  # ours")
Conf(folders=('/opt/rocm/lib',), includes=('ld.so.conf.d/*.conf',))
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.parsers.lib.printable import clean

_MOST = 200


class Conf(NamedTuple):
    folders: tuple[str, ...]
    includes: tuple[str, ...]


def read(text: str) -> Conf:
    """Every text is a configuration; an empty one has no folders."""
    folders: list[str] = []
    includes: list[str] = []
    for line in text.split("\n", 5000)[:5000]:
        words = re.split(r"[\s,:=]+", clean(line.partition("#")[0], 1000).strip())
        if words[0] == "include":
            includes += words[1:]
        elif words[0] != "hwcap":
            folders += [w for w in words if w.startswith("/")]
    return Conf(tuple(folders[:_MOST]), tuple(includes[:_MOST]))
