"""What is known of a machine, as frozen models. `Snapshot` is the root; `FactSheet` is how facts come in.

The models are imported when they are asked for: a probe's child needs sheets and states only, and no pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet, assemble

if TYPE_CHECKING:
    from doctor.facts.model import Origin
    from doctor.facts.snapshot import Snapshot

__all__ = ["FactSheet", "Origin", "Snapshot", "State", "assemble"]

_MODELS = {"Origin": "model", "Snapshot": "snapshot"}


def __getattr__(name: str) -> Any:
    if name in _MODELS:
        return getattr(import_module(f"doctor.facts.{_MODELS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
