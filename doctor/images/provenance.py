"""Where an image came from, as an in-toto statement with SLSA's provenance (v1): for tools that read that form.

It holds what the lock holds and no path, proxy or host name of the machine that built it; the same build of the same
doctor gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from doctor.images.bases import Base
from doctor.images.lockfile import Wheel
from doctor.images.oci import Image
from doctor.images.recipe import Recipe
from doctor.parsers.python.dist_info import normal

_HOME = "urn:rocm-cuda-doctor"


def statement(recipe: Recipe, image: Image, version: str, builder: Mapping[str, str]) -> str:
    """https://in-toto.io/Statement/v1 over https://slsa.dev/provenance/v1. `version`: of the doctor inside; `builder`:
    versions of what built it."""
    made = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": recipe.profile.image_name, "digest": {"sha256": image.digest.partition(":")[2]}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{_HOME}:image:v1",
                "externalParameters": {
                    "profile": recipe.name,
                    "platform": recipe.platform,
                    "lock": recipe.lock.digest() if recipe.lock else None,
                },
                "internalParameters": {"SOURCE_DATE_EPOCH": recipe.epoch},
                "resolvedDependencies": [*_base(recipe), *_debs(recipe), *_wheels(recipe), *_doctor(recipe, version)],
            },
            "runDetails": {"builder": {"id": f"{_HOME}:image-build", "version": dict(builder)}},
        },
    }
    return json.dumps(made, indent=1) + "\n"


def package_url(kind: str, name: str, version: str, **qualifiers: str | None) -> str:
    """A purl (https://github.com/package-url/purl-spec).

    >>> package_url("deb/ubuntu", "g++", "4:13.2.0-7ubuntu1", arch="amd64", distro="ubuntu-24.04")
    'pkg:deb/ubuntu/g%2B%2B@4:13.2.0-7ubuntu1?arch=amd64&distro=ubuntu-24.04'
    """
    rows = "&".join(f"{key}={quote(value, safe=':/')}" for key, value in sorted(qualifiers.items()) if value)
    return f"pkg:{kind}/{quote(name, safe='')}@{quote(version, safe=':')}{'?' if rows else ''}{rows}"


def deb_url(base: Base, name: str, version: str, architecture: str | None = None) -> str:
    return package_url(f"deb/{base.os}", name, version, arch=architecture, distro=f"{base.os}-{base.version}")


def wheel_url(name: str, version: str, index: str | None) -> str:
    return package_url("pypi", normal(name), version, repository_url=index)


def _base(recipe: Recipe) -> Iterator[dict[str, Any]]:
    if recipe.digest:
        folder, _, last = recipe.place.rpartition("/")
        name, _, tag = last.partition(":")
        uri = package_url("oci", name, recipe.digest, repository_url=f"{folder}/{name}" if folder else None, tag=tag)
        yield {"uri": uri, "name": recipe.image.partition("@")[0], **_sha256(recipe.digest)}


def _debs(recipe: Recipe) -> Iterator[dict[str, Any]]:
    for deb in (d for part in recipe.debs or () for d in part):
        uri = deb_url(recipe.base, deb.name, deb.version)
        yield {"uri": uri, **(_sha256(deb.sha256) if deb.sha256 else {})}


def _wheels(recipe: Recipe) -> Iterator[dict[str, Any]]:
    rows: tuple[Wheel, ...] = (*(recipe.wheels or ()), *(recipe.doctor_wheels or ()))
    for wheel in rows:
        yield {"uri": wheel_url(wheel.name, wheel.version, wheel.index), "name": wheel.file, **_sha256(wheel.sha256)}


def _doctor(recipe: Recipe, version: str) -> Iterator[dict[str, Any]]:
    if recipe.doctor:
        yield {"uri": f"pkg:pypi/rocm-cuda-doctor@{version}", **_sha256(recipe.doctor.sha256)}


def _sha256(digest: str) -> dict[str, Any]:
    return {"digest": {"sha256": digest.removeprefix("sha256:")}}
