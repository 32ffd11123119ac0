"""Words with quotes and escapes, each with the line where it begins: of ENV in a Dockerfile, of keys in a unit.

>>> [w.text for w in words("A='x y' B=2\\\\\\n3 \\"a \\\\\\"b\\"")]
['A=x y', 'B=23', 'a "b']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_WORD = re.compile(r"""(?:[^\s"'\\]+|\\(?s:.)|"(?:[^"\\]|\\(?s:.))*"|'[^']*')+""")
_QUOTED = re.compile(r"""\\\n|'([^']*)'|"((?:[^"\\]|\\(?s:.))*)"|\\((?s:.))""")
_ESCAPED = re.compile(r"""\\([\\"$`])|\\\n""")


class Word(NamedTuple):
    line: int
    text: str


def words(text: str) -> Iterator[Word]:
    """Nothing is expanded, and no sign ends a command; a quote that is never closed is left out."""
    line, at = 1, 0
    for found in _WORD.finditer(text):
        line, at = line + text.count("\n", at, found.start()), found.start()
        made = _QUOTED.sub(_bare, found[0])
        if made or "'" in found[0] or '"' in found[0]:
            yield Word(line + (len(found[0]) - len(found[0].lstrip("\\\n"))) // 2, made)


def _bare(found: re.Match[str]) -> str:
    if found[2] is not None:
        return _ESCAPED.sub(lambda m: m[1] or "", found[2])
    return found[1] or found[3] or ""
