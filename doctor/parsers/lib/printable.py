"""What is kept of a text that the machine hands over: printable, and of bounded length.

>>> clean("Ubuntu\\x1b[31m 22.04\\x00", 40)
'Ubuntu[31m 22.04'
"""

from __future__ import annotations


def clean(text: str, limit: int = 300) -> str:
    """One line without control characters (bidirectional marks included), cut at `limit` characters."""
    head = text[: limit * 2]
    kept = head if head.isprintable() else "".join(c for c in head if c.isprintable())
    return kept[:limit].strip()
