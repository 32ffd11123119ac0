"""The key of this machine's pseudonyms: the same for all that leaves it, so that reports and bundles can be compared,
and not to be guessed elsewhere. It goes into nothing that is written.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.system.base import System

_PLACES = ("etc/machine-id", "var/lib/dbus/machine-id")


def machine_key(system: System) -> bytes:
    """Of the machine that is asked; a random one where it has no id or doesn't tell."""
    for path in _PLACES:
        text = (system.read_text(path, limit=256).value or "").strip()
        if len(text) >= 16:
            return hashlib.sha256(b"doctor.pseudonyms/1" + text.encode()).digest()
    return os.urandom(32)


def key_of(report: Report) -> bytes | None:
    """Of this machine; None where the ids are pseudonyms already."""
    return None if report.redacted else local_key()


@lru_cache(maxsize=1)
def local_key() -> bytes:
    """Of the machine that the doctor runs on."""
    from doctor.system.live import LiveSystem

    return machine_key(LiveSystem({}))
