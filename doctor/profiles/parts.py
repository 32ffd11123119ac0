"""What a profile is made of beside its expectations, as pydantic models: hardware, flags, needs of a container, image,
baselines. Each value says where it comes from, as of when, and who is behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from doctor.profiles.expectation import Data, Source
from doctor.profiles.text import (
    Arch,
    Image,
    Line,
    Package,
    PciId,
    Revision,
    Url,
    Value,
    Variable,
    Version,
)

_SIZE = re.compile(r"[1-9][0-9]{0,5}[KMG]")
_CAP = re.compile(r"[A-Z][A-Z_]{2,30}")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_DEVICE = re.compile(r"/dev/[A-Za-z0-9_./-]{1,100}")


class Hardware(Data):
    """Which GPUs a profile is for. The ids decide where both sides have them, then the names; a key that is left out
    matches everything."""

    vendor: Literal["amd", "nvidia"] | None = None
    arch: tuple[Arch, ...] = ()
    pci_ids: tuple[PciId, ...] = ()
    revisions: tuple[Revision, ...] = ()
    """Of these ids, only those revisions; for cards that share an id."""
    names: tuple[Line, ...] = ()
    """Words that the GPU's name holds: `RX 7900`. Asked only where no PCI id is known."""
    except_names: tuple[Line, ...] = ()
    count: Annotated[int, Field(ge=1, le=1024)] | None = None

    @model_validator(mode="after")
    def _of_one_vendor(self) -> Hardware:
        mark = {"amd": ("1002:", "gfx"), "nvidia": ("10de:", "sm_")}.get(self.vendor or "")
        if mark is None and (self.pci_ids or self.arch):
            raise ValueError("vendor is missing beside pci_ids or arch; expected amd or nvidia")
        for given, start in ((self.pci_ids, mark and mark[0]), (self.arch, mark and mark[1])):
            wrong = next((g for g in given if start and not g.startswith(start)), None)
            if wrong:
                raise ValueError(f"{wrong} is none of {self.vendor}'s; it begins with {start} there")
        return self


class Flag(Data):
    """An environment variable. `safe-default`: may be baked into an image; `workload`: set where the workload runs;
    `conditional`: only where `only` holds."""

    name: Variable
    value: Value
    kind: Literal["safe-default", "workload", "conditional"]
    why: Line
    source: Source
    versions: Line | None = None
    """The versions that read it: `ROCm >= 7.13`."""
    only: Line | None = None
    """When it is right, in words."""

    @model_validator(mode="after")
    def _condition(self) -> Flag:
        if (self.kind == "conditional") != (self.only is not None):
            raise ValueError("kind conditional and `only` (when it is right) go together")
        return self


class Need(Data):
    """What a container needs to run it, and no more: never privileged, unconfined or the host's IPC."""

    kind: Literal["shm", "memlock", "nofile", "stack", "cap", "device"]
    value: str
    why: Line
    source: Source
    only: Line | None = None

    @model_validator(mode="after")
    def _right(self) -> Need:
        pattern, wanted = {
            "shm": (_SIZE, "a size such as 8G"),
            "memlock": (re.compile(r"unlimited|" + _SIZE.pattern), "unlimited, or a size such as 8G"),
            "stack": (_SIZE, "a size such as 64M"),
            "nofile": (_COUNT, "a number such as 65536"),
            "cap": (_CAP, "a capability without CAP_, such as SYS_PTRACE"),
            "device": (_DEVICE, "a node such as /dev/infiniband"),
        }[self.kind]
        if not pattern.fullmatch(self.value) or ".." in self.value:
            raise ValueError(f"{self.kind} can't be {self.value[:40]!r}; expected {wanted}")
        if self.kind == "cap" and self.value in ("ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO"):
            raise ValueError(f"cap {self.value} is as good as privileged; no profile may ask for it")
        return self


class Pip(Data):
    """A Python package of the image. `index`: where alone it may come from; without one, the default index."""

    name: Package
    version: Version | None = None
    """None: the newest when it is locked. Only of a page of links, whose builds come daily."""
    local: Annotated[str, Field(pattern=r"^[a-z0-9.]{1,40}$")] | None = None
    """The local part of the wheel's version: `rocm7.2`, `cu130`."""
    index: Url | None = None
    links: bool = False
    """`index` is a page of links, as pip's --find-links takes it, and no index."""
    extras: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$")], ...] = ()
    compile: bool = False
    """From its source, for the image's targets alone, against the image's torch."""
    why: Line
    source: Source

    @model_validator(mode="after")
    def _from_one_place(self) -> Pip:
        if self.links and self.index is None:
            raise ValueError("links = true needs `index`, which is missing")
        if self.version is None and (not self.links or self.name == "torch"):
            raise ValueError("version is missing; only packages of a page of links go without")
        return self

    @property
    def full(self) -> str | None:
        """`2.13.0+rocm7.2`; None where the lock finds the version."""
        return f"{self.version}+{self.local}" if self.version and self.local else self.version


class Apt(Data):
    name: Package
    version: Version | None = None
    why: Line
    source: Source


class Serve(Data):
    """The server of an image: what it starts with, and where it answers. `health`: a path that answers 200 when it is
    ready."""

    command: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./:-]{0,80}$|^--[a-z-]{1,40}$|^-m$")], ...],
        Field(min_length=1),
    ]
    port: Annotated[int, Field(ge=1024, le=65535)]
    health: Annotated[str, Field(pattern=r"^/[A-Za-z0-9_./-]{0,80}$")]
    why: Line
    source: Source


class ImageWish(Data):
    """What the image holds. The lock says which bytes that is."""

    base: Image | None = None
    ready: Image | None = None
    """An image that holds it all and is used as it is; none is built then."""
    python: Annotated[str, Field(pattern=r"^3\.[0-9]{1,2}$")] | None = None
    platform: Literal["linux/amd64", "linux/arm64"] = "linux/amd64"
    targets: tuple[Arch, ...] = ()
    """Compilation targets of source builds, and of wheels that come by target."""
    pip: tuple[Pip, ...] = ()
    apt: tuple[Apt, ...] = ()
    serve: Serve | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> ImageWish:
        if self.ready and (self.base or self.pip or self.apt):
            raise ValueError("ready is used as it is; base, pip and apt are of an image that is built")
        return self


class Number(Data):
    """`p50`: a median that was measured; `floor`: what at least should come out."""

    p50: float | None = None
    floor: float | None = None
    min: float | None = None
    max: float | None = None
    unit: Line

    @model_validator(mode="after")
    def _one(self) -> Number:
        if (self.p50 is None) == (self.floor is None):
            raise ValueError("expected one of p50, floor")
        return self


class Baseline(Data):
    """A number to compare with: what was measured, how, and on which software. A median has been measured, on a machine
    at clocks and with a spread; a floor was published."""

    what: Line
    value: Number
    method: Line
    dtype: Line
    shape: Line
    library: Line
    software: Mapping[str, Line]
    """Name → version of what the number was made with."""
    source: Source
    machine: Line | None = None
    clocks: Line | None = None

    @model_validator(mode="after")
    def _measured(self) -> Baseline:
        if self.value.p50 is not None and None in (self.value.min, self.value.max, self.machine, self.clocks):
            raise ValueError("a measured p50 needs min and max beside it, machine and clocks; expected a floor without")
        return self

    @field_validator("software")
    @classmethod
    def _some(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        if not value:
            raise ValueError("is empty; expected the versions that the number was made with")
        return value
