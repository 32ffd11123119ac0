"""Where a fact was read, and why one could not be.

`absent` is knowledge (the file is not there, and we could have seen it); every other state but `value` is not.
"""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict


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


class Model(BaseModel):
    """Base of all facts: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Alternative(Model):
    """Another source that gave another value for the same fact."""

    value: str
    source: str


class Origin(Model):
    """Beside each fact: how asking for it went, and where."""

    state: State
    source: str
    """`file:/proc/driver/nvidia/version`, `command:nvidia-smi -L`, `nvml`, `environment:NAME`, `text:PATH:LINE` …"""
    detail: str | None = None
    """Why it is not known, in words; or the line it was read from."""
    others: tuple[Alternative, ...] = ()
    """Sources of lower rank that contradict the value."""
