"""What the probes of one check read, put together in the parent from what their children send while they run.

An entry goes as a message of its own, in pieces where it is longer than a message may be.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from doctor.system import asked
from doctor.system.recorder import Recorder

if TYPE_CHECKING:
    from doctor.system.base import System
    from doctor.system.child import Send

_PIECE = 1 << 20
"""Characters of one piece; escaped as JSON it stays below the limit of a message."""


class Recording:
    """Entries of a capture (docs/captures.md); the first answer to a question stays."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self._pieces: dict[str, list[str]] = {}

    def begin(self, kind: str) -> None:
        """`kind` is that of the System that is asked."""
        self.entries[asked.KIND] = {"state": "value", "value": kind}

    def take(self, sender: str, message: dict[str, Any]) -> None:
        """One message of `streaming`."""
        pieces = self._pieces.setdefault(sender, [])
        pieces.append(message["piece"])
        if message["last"]:
            key, entry = json.loads("".join(pieces))
            self.entries.setdefault(key, entry)
            pieces.clear()


def streaming(system: System, send: Send) -> Recorder:
    """A recorder that sends each entry as soon as it is there."""

    def listener(key: str, entry: dict[str, Any]) -> None:
        text = json.dumps([key, entry])
        starts = range(0, len(text), _PIECE)
        for start in starts:
            send({"piece": text[start : start + _PIECE], "last": start == starts[-1]})

    return Recorder(system, listener)
