"""AMD's documentation source: ROCm's releases, and the amdgpu drivers and kernels that the newest of them lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "the source of AMD's ROCm documentation"
_ROOT = "https://raw.githubusercontent.com/ROCm/rocm-docs/HEAD/docs/"
RELEASES, DRIVERS = f"{_ROOT}release/versions.rst", f"{_ROOT}data/driver-firmware-support.yaml"
SYSTEMS = f"{_ROOT}data/os-support.yaml"
_OS = {"debian": "Debian", "oracle": "Oracle Linux", "rhel": "RHEL", "rocky": "Rocky Linux", "sles": "SLES",
       "ubuntu": "Ubuntu"}  # fmt: skip
"""The file's anchors -> the table's names."""


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
    kernels = {f"{row.os} {row.version}": " ".join(row.kernels) for row in kb.os_kernels()}
    for system, kernel in systems(_text(get, SYSTEMS)):
        if kernel.split()[-1] not in kernels.get(system, ""):
            yield f"+ rocm_os_kernels: {system} has kernel {kernel}"


def systems(text: str) -> list[tuple[str, str]]:
    """`("Ubuntu 24.04.4", "HWE 6.17")`. Raises ValueError for a file of another form."""
    rows = re.findall(r'&([a-z]+)_\w+ \{ version: "([\d.]+)", kernel: "([^"]+)"', text)
    if not rows:
        raise ValueError(f"{SYSTEMS}: its form is not the known one")
    return [(f"{_OS.get(os, os)} {_service_pack(os, version)}", kernel) for os, version, kernel in rows]


def _service_pack(os: str, version: str) -> str:
    return version.replace(".", " SP", 1) if os == "sles" and version.startswith("15.") else version


def _text(get: Fetch, url: str) -> str:
    return get(url, {}).decode("utf-8", "replace")
