"""AMD's documentation source: ROCm's releases, and the amdgpu drivers that the newest of them lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "the source of AMD's ROCm documentation"
_ROOT = "https://raw.githubusercontent.com/ROCm/rocm-docs/HEAD/docs/"
RELEASES, DRIVERS = f"{_ROOT}release/versions.rst", f"{_ROOT}data/driver-firmware-support.yaml"


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ rocm_releases: 10.2.0 (November 18, 2026)`. Raises ValueError for a page of another form."""
    released = re.findall(r"`(\d+\.\d+\.\d+) <https://rocm\S+\s*\n\s*- (\w+ \d+, \d{4})", _text(get, RELEASES))
    drivers = re.findall(r"&amdgpu_\w+\s*\n\s*version: \"(\d+\.\d+\.\d+)\"", _text(get, DRIVERS))
    if not released or not drivers:
        raise ValueError(f"{RELEASES if not released else DRIVERS}: its form is not the known one")
    held = {release.version for release in kb.rocm_releases()}
    yield from (f"+ rocm_releases: {version} ({day})" for version, day in released if version not in held)
    known = {driver.version for driver in kb.amdgpu_drivers()}
    yield from (f"+ amdgpu_drivers: {version}" for version in drivers if version not in known)


def _text(get: Fetch, url: str) -> str:
    return get(url, {}).decode("utf-8", "replace")
