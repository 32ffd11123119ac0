"""The lock: which bytes a recipe stands for. Base by digest, distribution packages by version and date, wheels by hash.

Each part keeps what it was asked for; a part that answers another question than the recipe's is not used. JSON, written
by `doctor image lock`, read by emit and build.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from doctor.errors import DataFileError
from doctor.profiles.text import Image, Package, Url, Version
from doctor.system.given import read_given_bytes

NAME = "lock.json"
_LIMIT = 8 << 20

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[str, Field(pattern=r"^20[0-9]{6}T[0-9]{6}Z$")]
DebVersion = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,100}$")]
WheelFile = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{3,250}\.(?:whl|tar\.gz)$")]
PipVersion = Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.!]{0,60}(?:\+[a-z0-9.]{1,40})?$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BaseLock(_Part):
    asked: Image
    digest: Digest
    platform_digest: Digest | None = None
    """Of the one platform's manifest, where `digest` is of an index."""
    mirror: Image | None = None
    """Where the digest was seen, if nobody could ask the registry of `asked` for it: what the Dockerfile names then."""


class Deb(_Part):
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


class Wheel(_Part):
    name: Package
    version: PipVersion
    file: WheelFile
    sha256: Hash
    size: int | None = Field(default=None, ge=0)
    url: Url | None = None
    """Where it was found; an index is asked for it by name all the same."""
    index: Url | None = None
    """The one index that it may come from; None: the default one."""


class WheelLock(_Part):
    """`python` and `glibc`: of the target, not of the machine that made the lock."""

    asked: tuple[str, ...]
    python: str
    glibc: Version
    wheels: tuple[Wheel, ...] = ()


class Lock(_Part):
    schema_: Literal["doctor.image-lock/1"] = Field(default="doctor.image-lock/1", alias="schema")
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    platform: Literal["linux/amd64", "linux/arm64"] = "linux/amd64"
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
    if not path.is_file():
        return None
    content = read_given_bytes(path, _LIMIT)
    try:
        return Lock.model_validate_json(content)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:8]]
        raise DataFileError(str(path), faults) from error
