"""What all facts are made of, and where each was read.

The modules of the models have no `from __future__ import annotations`: pydantic would evaluate every annotation from
its text, for which every run pays.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from doctor.facts.origin import State

WATCH = " watch"
"""Where a watched model keeps what answers for the facts that it does not hold."""


class Model(BaseModel):
    """Base of all facts: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __getattr__(self, name: str) -> Any:
        """Of a watched machine (doctor/facts/watched.py) a part, or an unknown fact: None, and its name is noted."""
        watch = self.__dict__.get(WATCH)
        if watch is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return watch(self.__dict__, name)


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
