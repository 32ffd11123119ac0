"""Newer releases on the Python package index than the catalogue has, of every package that it knows."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from doctor.knowledge import Knowledge
from refresh import pypi

TITLE = "the Python package index"


def ask(get: pypi.Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ packages: vllm 0.34.0 (2026-11-28)`. Raises OSError with the first project that can't be reached."""
    for name in sorted(kb.packages() | {"torch"}):
        known = [r.version for r in kb.package_releases(name)] or [kb.torch_releases()[-1].version] * (name == "torch")
        if known:
            yield from newer(name, max(known, key=Version), pypi.files(name, get))


def newer(name: str, known: str, listed: list[pypi.File]) -> Iterator[str]:
    for version, files in pypi.releases(listed, ""):
        if Version(version) > Version(known):
            yield f"+ packages: {name} {version} ({min(f.uploaded for f in files)})"
