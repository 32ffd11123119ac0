"""The typed catalogue: what is true of GPUs, releases and drivers, with the source of each entry.

`Knowledge()` is cheap. A table is read when the first question about it is asked, and the entry that answers is
validated as it is handed out. None is the answer to every question that the tables can't decide.
"""

from doctor.knowledge.catalogue import Knowledge
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
