"""What is passed into a container, engine by engine the same, each part with the reason for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "device",  # path of a node on the host
    "cdi",  # `vendor/class=name`
    "gpus",  # docker's own word for NVIDIA's devices: `all`, or indexes with commas
    "runtime",  # an OCI runtime that the engine is configured for
    "group",  # a numeric gid, or keep-groups
    "env",  # NAME=VALUE
    "shm",  # bytes
    "ulimit",  # NAME=SOFT[:HARD]
    "cap",  # a capability without CAP_
    "mount",  # HOST:CONTAINER[:ro]
    "user",  # UID[:GID]
    "ipc",
    "security",
    "privileged",
]


@dataclass(frozen=True)
class Part:
    """One thing that the container gets."""

    kind: Kind
    value: str
    reason: str


_OF_GPUS = ("/dev/kfd", "/dev/dri/", "/dev/nvidia", "/dev/dxg")


def beside_gpus(part: Part) -> bool:
    """A node that is no GPU's (RDMA): what hands out GPUs does not bring it."""
    return part.kind == "device" and not part.value.startswith(_OF_GPUS)


@dataclass(frozen=True)
class Trouble:
    """What is missing on this machine, and what to do. `fatal`: the container would not start, or see no GPU."""

    text: str
    fix: str
    fatal: bool = True


@dataclass(frozen=True)
class Spec:
    """A run, before any engine's syntax."""

    image: str
    command: tuple[str, ...]
    vendor: Literal["amd", "nvidia"] | None
    """None: no GPU is passed."""
    gpus: tuple[str, ...]
    """The chosen GPUs as they were named: `0`, `0:3` for a partition. Empty with vendor None."""
    every: bool
    """All GPUs of the machine are chosen."""
    parts: tuple[Part, ...]
    troubles: tuple[Trouble, ...] = ()
    name: str = "gpu-job"
    selectors: tuple[str, ...] = ()
    """The chosen GPUs as the vendor's visibility variable calls them; () where that can't be told."""

    def of(self, *kinds: Kind) -> Iterator[Part]:
        """The parts of those kinds, in order."""
        yield from (part for part in self.parts if part.kind in kinds)

    @property
    def count(self) -> int:
        """How many GPUs a scheduler is asked for: under WSL all are one."""
        return max(1, len(self.gpus)) if self.vendor else 0

    @property
    def env(self) -> dict[str, str]:
        return dict(part.value.partition("=")[::2] for part in self.of("env"))


@dataclass(frozen=True)
class Line:
    """A flag or key as the engine is told, and why. `reason` is empty for nothing but the image and the command."""

    text: str
    reason: str


@dataclass(frozen=True)
class Emitted:
    """`text` is what a file would hold, or a shell line. `left_out` is what this format can't say, and why."""

    text: str
    lines: tuple[Line, ...]
    left_out: tuple[str, ...] = ()
