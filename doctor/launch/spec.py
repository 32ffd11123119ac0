"""What is passed into a container, engine by engine the same, each part with the reason for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal[
    "device",  # path of a node on the host
    "cdi",  # `vendor/class=name`
    "gpus",  # docker's own word for NVIDIA's devices: `all`, or indexes with commas
    "runtime",  # an OCI runtime that the engine is configured for
    "group",  # a numeric gid, or keep-groups
    "env",  # NAME=VALUE
    "pass_env",  # NAME: the value is the caller's
    "env_file",  # path of a file of NAME=VALUE lines
    "shm",  # bytes
    "ulimit",  # NAME=SOFT[:HARD]
    "cap",  # a capability without CAP_
    "mount",  # HOST:CONTAINER[:OPTIONS], an absolute path of the host
    "volume",  # NAME:CONTAINER[:OPTIONS], a named volume
    "publish",  # [[IP:]HOST:]CONTAINER[/PROTOCOL]
    "network",
    "name",
    "workdir",
    "detach",  # true
    "entrypoint",  # empty: none
    "engine_arg",  # one word of docker's or podman's own
    "user",  # UID[:GID]
    "ipc",
    "security",
    "privileged",
]


@dataclass(frozen=True)
class Part:
    kind: Kind
    value: str
    reason: str


OPTIONS: Mapping[Kind, str] = {
    "pass_env": "-e",
    "env_file": "--env-file",
    "mount": "-v",
    "volume": "-v",
    "publish": "-p",
    "network": "--network",
    "name": "--name",
    "workdir": "-w",
    "detach": "-d",
    "entrypoint": "--entrypoint",
    "engine_arg": "--engine-arg",
}
"""What the user wrote to get such a part."""


class Bound(NamedTuple):
    """A mount or a named volume, taken apart."""

    source: str
    inside: str
    options: tuple[str, ...]

    @property
    def read_only(self) -> bool:
        return "ro" in self.options

    @property
    def plain(self) -> str:
        """Without the options that only docker and podman have (`z`, `Z`)."""
        return f"{self.source}:{self.inside}{':ro' if self.read_only else ''}"


def bound(part: Part) -> Bound:
    source, inside, *options = part.value.split(":")
    return Bound(source, inside, tuple(options[0].split(",")) if options else ())


OF_DOCKER = "an option of docker and podman alone"
ON_THE_NODE: Mapping[Kind, str] = {
    "volume": "there are no named volumes: mount a folder with -v /FOLDER:PATH",
    "publish": "the node's network is used: the program's own port is open on it",
    "network": "the node's network is used",
    "engine_arg": OF_DOCKER,
}


def left_out(spec: Spec, reasons: Mapping[Kind, str]) -> Iterator[str]:
    """One line for each part of those kinds: the option with its value, and why the format leaves it out."""
    for part in spec.of(*reasons):
        value = "" if part.kind == "detach" else f" {part.value}"
        option = part.kind if part.value == "host" else OPTIONS.get(part.kind, part.kind)
        yield f"{option}{value}: {reasons[part.kind]}"


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
    """The chosen GPUs as the vendor's visibility variable calls them; () where that is not known."""

    resources: tuple[str | None, ...] = ()
    """What a device plugin with mixed names calls each chosen GPU; None where that is not known."""
    mixed: bool = False
    """The cluster's device plugin has mixed names."""
    nodes: tuple[str, ...] = ()
    """The device nodes of the chosen GPUs, however they are passed."""

    def of(self, *kinds: Kind) -> Iterator[Part]:
        yield from (part for part in self.parts if part.kind in kinds)

    @property
    def count(self) -> int:
        """How many GPUs a scheduler is asked for: under WSL all are one."""
        return max(1, len(self.gpus)) if self.vendor else 0

    def one(self, kind: Kind) -> str | None:
        return next((part.value for part in self.of(kind)), None)

    @property
    def env(self) -> dict[str, str]:
        return dict(part.value.partition("=")[::2] for part in self.of("env"))


@dataclass(frozen=True)
class Line:
    """A flag or key as the engine reads it, and why. `reason` is empty for nothing but the image and the command."""

    text: str
    reason: str


@dataclass(frozen=True)
class Emitted:
    """`text` is what a file would hold, or a shell line. `left_out` is what this format can't say, and why."""

    text: str
    lines: tuple[Line, ...]
    left_out: tuple[str, ...] = ()
