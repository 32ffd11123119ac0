"""A package's RECORD -> the files that were installed and their sizes.

>>> list(read('torch/_C.so,sha256=abc,123\\n"a,b.py",sha256=abc,4\\ntorch/__pycache__/x.pyc,,\\n'))
[File(path='torch/_C.so', size=123, digest='sha256=abc'), File(path='a,b.py', size=4, digest='sha256=abc')]
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

MOST_BYTES = 16 << 20
_MOST_FILES = 100_000


class File(NamedTuple):
    """`size` None: whoever installed it may have rewritten it. `digest`: `sha256=…` as listed."""

    path: str
    size: int | None
    digest: str | None = None


def read(text: str, skip: re.Pattern[str] | None = None) -> Iterator[File]:
    """Files of the package itself: what was compiled at installation has no size, and what lies outside of
    site-packages (scripts, manuals) is left out, as are paths that `skip` finds. Rows of another form are passed over.
    """
    for found in islice(_ROW.finditer(text), _MOST_FILES):
        path, digest, size = found.groups()
        if path is None:
            row = next(csv.reader([found[0]]), [])
            path, digest, size = row if len(row) == 3 and not row[0].startswith(("..", "/")) else ("", "", "")
        if size.strip().isdecimal() and path and not (skip and skip.search(path)):
            yield File(path, int(size), digest or None)


_ROW = re.compile(
    r'^(?:(?!\.\.|[/"])([^\n]{1,4000}),([^,\n]{0,200}),(\d{1,15})[ \t\r]{0,8}|"[^\n]{1,4000})$', re.M | re.ASCII
)
