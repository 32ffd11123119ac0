"""Where an image came from, as an in-toto statement with SLSA's provenance (v1): for tools that read that form.

It holds what the lock holds and no path, proxy or host name of the machine that built it; the same build of the same
doctor gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.images.lockfile import Wheel
from doctor.images.oci import Image
from doctor.images.recipe import Recipe

_HOME = "urn:rocm-cuda-doctor"


def statement(recipe: Recipe, image: Image, version: str, builder: Mapping[str, str]) -> str:
    """https://in-toto.io/Statement/v1 over https://slsa.dev/provenance/v1. `version`: of the doctor inside; `builder`:
    versions of what built it."""
    told = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": recipe.profile.image_name, "digest": {"sha256": image.digest.partition(":")[2]}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{_HOME}:image:v1",
                "externalParameters": {
                    "profile": recipe.name,
                    "platform": recipe.lock.platform if recipe.lock else "linux/amd64",
                    "lock": recipe.lock.digest() if recipe.lock else None,
                },
                "internalParameters": {"SOURCE_DATE_EPOCH": recipe.epoch},
                "resolvedDependencies": [*_base(recipe), *_debs(recipe), *_wheels(recipe), *_doctor(recipe, version)],
            },
            "runDetails": {"builder": {"id": f"{_HOME}:image-build", "version": dict(builder)}},
        },
    }
    return json.dumps(told, indent=1) + "\n"


def _base(recipe: Recipe) -> Iterator[dict[str, Any]]:
    if recipe.digest:
        name = recipe.image.partition("@")[0]
        yield {"uri": f"pkg:oci/{name.rpartition('/')[2].partition(':')[0]}", "name": name, **_sha256(recipe.digest)}


def _debs(recipe: Recipe) -> Iterator[dict[str, Any]]:
    for deb in (d for part in recipe.debs or () for d in part):
        uri = f"pkg:deb/{recipe.base.os}/{deb.name}@{deb.version}"
        yield {"uri": uri, **(_sha256(deb.sha256) if deb.sha256 else {})}


def _wheels(recipe: Recipe) -> Iterator[dict[str, Any]]:
    rows: tuple[Wheel, ...] = (*(recipe.wheels or ()), *(recipe.doctor_wheels or ()))
    for wheel in rows:
        yield {"uri": f"pkg:pypi/{wheel.name}@{wheel.version}", "name": wheel.file, **_sha256(wheel.sha256)}
    for package in recipe.pip:
        if package.git and package.commit:
            yield {"uri": f"git+{package.git}@{package.commit}", "digest": {"gitCommit": package.commit}}


def _doctor(recipe: Recipe, version: str) -> Iterator[dict[str, Any]]:
    if recipe.doctor:
        yield {"uri": f"pkg:pypi/rocm-cuda-doctor@{version}", **_sha256(recipe.doctor.sha256)}


def _sha256(digest: str) -> dict[str, Any]:
    return {"digest": {"sha256": digest.removeprefix("sha256:")}}
