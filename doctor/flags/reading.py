"""What a component takes a text for."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["taken", "ignored", "misread", "fails"]
"""Taken as it says; set aside for the default; taken for something else than it says; the program stops."""


class Reading(NamedTuple):
    value: bool | int | str | tuple[str, ...] | None
    """None: the component keeps its default, or stops."""
    state: State
    says: str = ""
    """What happens, as the end of a sentence about the value: `reads as 0`."""
