"""The typed catalogue: what is true of GPUs, releases and drivers, with the source of each entry.

`Knowledge()` is cheap. A table is read when the first question about it is asked, and the entry that answers is
validated as it is handed out. None is the answer to every question that the tables can't decide.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from doctor.knowledge.catalogue import Knowledge

if TYPE_CHECKING:
    from doctor.knowledge.entries import (
        AmdGpu,
        Companions,
        DriverBranch,
        Floor,
        NvidiaGpu,
        RocmRelease,
        Toolkit,
        TorchBuild,
        Xid,
    )

__all__ = [
    "AmdGpu",
    "Companions",
    "DriverBranch",
    "Floor",
    "Knowledge",
    "NvidiaGpu",
    "RocmRelease",
    "Toolkit",
    "TorchBuild",
    "Xid",
]


def __getattr__(name: str) -> Any:
    """The models of the entries, imported when they are asked for."""
    if name in __all__:
        return getattr(import_module("doctor.knowledge.entries"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
