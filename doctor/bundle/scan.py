"""Looks in a bundle for what redaction missed: runs it again over every file and tells where it would still act."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from doctor.bundle.open import Bundle
from doctor.redaction.secrets import masked


class Missed(NamedTuple):
    """Kinds of secrets in a file, never the values."""

    name: str
    kinds: dict[str, int]


def scan(bundle: Bundle) -> list[Missed]:
    """The files that still hold something that looks like a secret; empty when there is none."""
    found = []
    for name, content in sorted(bundle.files.items()):
        counts: Counter[str] = Counter()
        masked(content.decode("utf-8", "replace"), counts)
        if counts:
            found.append(Missed(name, dict(sorted(counts.items()))))
    return found
