"""How asking for a fact went.

Probes and parsers run in children of their own and need this alone: it imports no pydantic, which
doctor/facts/model.py does.

`absent` is knowledge (the file is not there, and we could have seen it); every other state but `value` is not.
"""

from __future__ import annotations

from enum import Enum


class State(str, Enum):
    """The outcome of asking for one fact."""

    VALUE = "value"
    ABSENT = "absent"
    DENIED = "denied"
    TIMED_OUT = "timed-out"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    """It was read, and is not in the form that it should have."""
    TOO_LARGE = "too-large"
    NOT_RECORDED = "not-recorded"
    """A capture does not hold it. Never means absent."""
    NOT_ASKED = "not-asked"
    """Left out on purpose: not asked for, or it would have woken a suspended GPU."""
