"""A package's RECORD -> the files that were installed and their sizes.

>>> list(read('torch/_C.so,sha256=abc,123\\n"a,b.py",sha256=abc,4\\ntorch/__pycache__/x.pyc,,\\n'))
[File(path='torch/_C.so', size=123, digest='sha256=abc'), File(path='a,b.py', size=4, digest='sha256=abc')]
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

MOST_BYTES = 16 << 20
_MOST_FILES = 100_000


class File(NamedTuple):
    """`size` None: whoever installed it may have rewritten it. `digest`: `sha256=…` as listed."""

    path: str
    size: int | None
    digest: str | None = None


def read(text: str) -> Iterator[File]:
    """Files of the package itself: what was compiled at installation has no size, and what lies outside of
    site-packages (scripts, manuals) is left out. Every text is a table; rows of another form are passed over."""
    for line in text.split("\n", _MOST_FILES)[:_MOST_FILES]:
        row = next(csv.reader([line]), []) if '"' in line else line.rsplit(",", 2)
        if len(row) != 3 or row[0].startswith(("..", "/")):
            continue
        size = row[2].strip()
        if size.isdecimal() and len(size) < 16:
            yield File(row[0], int(size), row[1] or None)
