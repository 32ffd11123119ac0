"""The lock: which bytes a recipe stands for. Base by digest, distribution packages by version and date, wheels by hash.

Each part keeps what it was asked for; a part that answers another question than the recipe's is not used. JSON, written
by `doctor image lock`, read by emit and build. Parts that ship with the package are in the folder locks, under a name
made of the question: what an image is made of and not which profile asks, so that all boards of a stack share them.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from importlib.resources import files as resources
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from doctor.errors import DataFileError, in_plain_words
from doctor.profiles.text import Image, Package, Url, Version
from doctor.system.given import read_given_bytes

NAME = "lock.json"
_LIMIT = 8 << 20

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[str, Field(pattern=r"^20[0-9]{6}T[0-9]{6}Z$")]
DebVersion = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,100}$")]
WheelFile = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{3,250}\.(?:whl|tar\.gz)$")]
Platform = Literal["linux/amd64", "linux/arm64"]
Observed = Literal["public-file", "resolved-here", "built-here"]
PipVersion = Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.!]{0,60}(?:\+[a-z0-9.]{1,40})?$")]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Part(_Data):
    """`observed`: by whom what it says was seen, and `as_of` when."""

    observed: Observed | None = None
    as_of: datetime.date | None = None


class BaseLock(_Part):
    asked: Image
    digest: Digest
    mirror: Image | None = None
    """Where the digest was seen, if nobody could ask the registry of `asked` for it: what the Dockerfile names then."""


class Deb(_Data):
    name: Package
    version: DebVersion
    sha256: Hash | None = None


class AptLock(_Part):
    """`packages`: all that gets installed, dependencies too, beside what the base has. Without a snapshot the versions
    hold as long as the distribution's archive has them."""

    asked: tuple[str, ...]
    base: Digest
    snapshot: Moment | None = None
    runtime: tuple[Deb, ...] = ()
    build: tuple[Deb, ...] = ()


class Wheel(_Data):
    name: Package
    version: PipVersion
    file: WheelFile
    sha256: Hash
    size: int | None = Field(default=None, ge=0)
    url: Url | None = None
    """Where it was found; an index is asked for it by name all the same."""
    index: Url | None = None
    """The one index that it may come from; None: the default one."""
    observed: Observed | None = None
    """Where its hash was seen, if not where the others were."""


class WheelLock(_Part):
    """`python` and `glibc`: of the target, not of the machine that made the lock."""

    asked: tuple[str, ...]
    python: str
    glibc: Version
    wheels: tuple[Wheel, ...] = ()


class Lock(_Data):
    schema_: Literal["doctor.image-lock/1"] = Field(default="doctor.image-lock/1", alias="schema")
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    platform: Platform = "linux/amd64"
    epoch: int = Field(ge=0, le=1 << 33)
    """Seconds; the time that everything in the image bears at most. The moment of the newest part."""
    base: BaseLock | None = None
    apt: AptLock | None = None
    stack: WheelLock | None = None
    doctor: WheelLock | None = None

    def text(self) -> str:
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=1) + "\n"

    def digest(self) -> str:
        return hashlib.sha256(self.text().encode()).hexdigest()


def read(folder: Path) -> Lock | None:
    """The lock in a folder; None without one. Raises DataFileError with each fault."""
    path = folder / NAME
    return _model(Lock, str(path), read_given_bytes(path, _LIMIT)) if path.is_file() else None


_Model = TypeVar("_Model", bound=BaseModel)


def _model(kind: type[_Model], path: str, content: bytes) -> _Model:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {in_plain_words(e['msg'])}" for e in error.errors()[:8]]
        raise DataFileError(path, faults) from error


def shipped_name(kind: Literal["base", "apt", "wheels"], platform: str, image: str, *asked: str) -> str:
    """The file of a part. `image`: the base, or the Python that the wheels are for.

    >>> shipped_name("base", "linux/amd64", "ubuntu:24.04")
    'base-ubuntu-24.04-6bcd95e4.json'
    """
    about = next((a for a in asked if kind == "wheels"), image)
    slug = re.sub(r"[^a-z0-9.]+", "-", about.partition(" ")[0].lower()).strip("-")[:48]
    summed = hashlib.sha256(json.dumps([kind, platform, image, *asked]).encode()).hexdigest()
    return f"{kind}-{slug}-{summed[:8]}.json"


def shipped(kind: type[_Model], name: str) -> _Model | None:
    """A part that ships with the package; None where there is none for the question."""
    path = resources("doctor.images") / "locks" / name
    return _model(kind, name, path.read_bytes()) if path.is_file() else None
