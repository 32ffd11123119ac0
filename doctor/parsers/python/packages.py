"""`name version` pairs as pip, conda and collect_env print them -> package facts.

>>> normal("Flash_Attn")
'flash-attn'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

VERSION = re.compile(r"v?\d[\w.+!-]{0,60}$")
LIMIT = 2000
GONE = re.compile(
    r"\b(?:is|was|are|were|gets?|got|being) (?:\w{1,12} )?(?:replaced|overwritten|uninstalled|removed|downgraded)\b",
    re.IGNORECASE,
)
"""Says of a package that it is there no longer: `torch 2.10.0+cu130 is replaced by torch 2.9.1`."""
_RUNS = re.compile(r"[-_.]+")


def normal(name: str) -> str:
    return _RUNS.sub("-", name).lower()[:100]


def package(name: str, version: str) -> dict[str, str] | None:
    """A row of the `packages` fact, or None where that is no package with a version."""
    if not VERSION.match(version) or not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", name):
        return None
    return {"name": normal(name), "version": version}


_GCC = ("gxx-linux-64", "gcc-linux-64", "gxx", "gcc")
_NVCC = ("cuda-nvcc", "nvidia-cuda-toolkit", "cuda")
"""What conda and distributions call the two compilers, where a list of packages holds them."""


def compilers(rows: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """The gcc and the CUDA toolkit that a list of packages installs, as facts."""
    held = {row["name"]: row["version"] for row in rows}
    if gcc := next((held[name] for name in _GCC if name in held), ""):
        yield "host.gcc_version", gcc
    if nvcc := next((held[name] for name in _NVCC if name in held), ""):
        yield "cuda[listed].path", ""
        yield "cuda[listed].version", nvcc
        yield "cuda[listed].kind", "toolkit"
