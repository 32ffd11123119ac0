"""vLLM's own index for ROCm: the releases and ROCm builds that it lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "vLLM's index of wheels for ROCm"
URL = "https://wheels.vllm.ai/rocm/vllm/"


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ package_ways: vllm 0.24.0 is built for rocm721`. Raises ValueError for a page without wheels."""
    page = get(URL, {}).decode("utf-8", "replace")
    built = set(re.findall(r"vllm-(\d+(?:\.\d+)+)(?:%2B|\+)(rocm\d+)-", page))
    if not built:
        raise ValueError(f"{URL}: lists no wheel of a release")
    ways = [way for way in kb.package_ways("vllm") if way.vendor == "amd" and way.kind == "wheel"]
    for version, build in sorted(built, key=lambda one: (Version(one[0]), one[1])):
        if not any(build in way.id and version in SpecifierSet(way.versions) for way in ways):
            yield f"+ package_ways: vllm {version} is built for {build}"
