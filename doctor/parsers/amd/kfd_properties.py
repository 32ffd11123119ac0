"""A `properties` file of the KFD topology -> its numbers: a key and an integer a line.

>>> read("simd_count 1216\\nlocal_mem_size 0\\n")
{'simd_count': 1216, 'local_mem_size': 0}
"""

from __future__ import annotations

import re

from doctor.errors import ParserError

_LINE = re.compile(r"^([a-z0-9_]{1,64}) (-?\d{1,20})$")


def read(text: str) -> dict[str, int]:
    """Lines of another form are left out; ParserError when no line is of this form."""
    rows = (_LINE.match(line.strip()) for line in text.splitlines()[:256])
    found = {row[1]: int(row[2]) for row in rows if row}
    if not found:
        raise ParserError("no line of the form 'key number'")
    return found
