"""Marketing names of GPUs, as tools print and people write them -> vendor and architecture.

Made from the tables of GPUs: each name answers, and each beginning of a name that leads to one architecture only.

>>> gpu_by_name("AMD Radeon RX 7900 XTX"), gpu_by_name("NVIDIA A100-SXM4-80GB")
(NamedGpu(vendor='amd', arch='gfx1100'), NamedGpu(vendor='nvidia', arch='sm_80'))
>>> gpu_by_name("Tesla") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from doctor.knowledge.catalogue import table
from doctor.knowledge.store import kept

_NOISE = {
    *("nvidia", "geforce", "amd", "ati", "radeon", "instinct", "tesla", "graphics", "gpu", "corporation"),
    *("hgx", "tm", "r"),
}
_WORD = re.compile(r"[a-z]+\d+[a-z]*\d*|\d+[a-z]*|[a-z]+")
_JOINED = re.compile(r"\b(rtx|gtx|rx)(?=\d{3,4})|(?<=\d\d\d)(?=(?:ti|super|xtx?|gre)\b)")
_PARTED = re.compile(r"(?<=\bmi) (?=\d{2,3}[ax]?\b)")
"""People write RTX5090 for RTX 5090, 1080ti for 1080 Ti, and MI 300X for MI300X."""
_OF_NVIDIA = re.compile(r"\b(?:gtx|rtx|geforce|quadro|nvidia)")
_SHORT = re.compile(r"\d{1,2}$|\d+(?:gb|g|x)$")
_TEGRA = {
    "orin": "sm_87",
    "xavier": "sm_72",
    "thor": "sm_110",
    "jetson nano": "sm_53",
    "tx2": "sm_62",
    "gb10": "sm_121",
    "dgx spark": "sm_121",
}
"""Integrated GPUs that no PCI table lists. Source: docs.nvidia.com/cuda, compute capabilities, as of 2026-08."""

_CODENAMES = (
    (re.compile(r"\bradeon vii\b|\bvega ?20\b"), "gfx906"),
    (re.compile(r"\bstrix halo\b|\bryzen ai max\b"), "gfx1151"),
    (re.compile(r"\bstrix point\b|\bryzen ai 9 (?:hx )?3[67][05]\b"), "gfx1150"),
    (re.compile(r"\b(?:rx )?vega ?(?:10|56|64)\b|\bmi25\b|\bvega fe\b"), "gfx900"),
    (re.compile(r"\bpolaris\b|\brx ?[45][5-9]0\b|\bellesmere\b|\bfiji\b"), "gfx803"),
    (re.compile(r"\b(?:radeon|rx) (?:pro )?(?:5[4-8][05]x?|4[56][05])\b"), "gfx803"),
    (re.compile(r"\boland\b"), "gfx601"),
    (re.compile(r"\btahiti\b"), "gfx600"),
    (re.compile(r"\bhawaii\b"), "gfx701"),
    (re.compile(r"\brx ?(?:66[05]0[ms]|6[78]00s)\b"), "gfx1032"),
    (re.compile(r"\brx ?(?:6[78]00m|6850m)\b"), "gfx1031"),
    (re.compile(r"\brx ?(?:6[345][05]0[ms])\b"), "gfx1034"),
    (re.compile(r"\brx ?(?:7600[ms]|7700s)\b"), "gfx1102"),
    (re.compile(r"\brx ?7900m\b"), "gfx1100"),
)
"""Names outside the tables: old cards, dies, GPUs of notebooks. Source: LLVM's AMDGPU processor table, as of 2026-08;
pci.ids, which names the die of each."""

_LEGACY = (
    (re.compile(r"\bgtx ?(?:6[5-9]0|7[67]0)\b|\btesla k10\b|\bgrid k[12]\b"), "sm_30"),
    (re.compile(r"\btesla k80\b|^(?:nvidia )?k80\b"), "sm_37"),
    (re.compile(r"\btesla k[24]0[a-z]?\b|\bgtx ?780\b(?! ?m)|\btitan (?:black|z)\b|\bquadro k6000\b"), "sm_35"),
    (re.compile(r"\bgtx ?(?:750|745|850m|950m|960m)\b|\b(?:8[34]0|9[34]0)mx?\b|\btesla m10\b"), "sm_50"),
    (re.compile(r"\bquadro (?:k620|k1200|k2200|m[126]000m|m1200|m620)\b"), "sm_50"),
    (re.compile(r"\bgtx ?(?:9[5678]0|9[678]0m|965m)\b|\bgtx titan x\b|\btesla m(?:4|6|40|60)\b"), "sm_52"),
    (re.compile(r"\bquadro m[2456]000\b"), "sm_52"),
    (re.compile(r"\btitan xp\b"), "sm_61"),
    (re.compile(r"\btitan v\b"), "sm_70"),
    (re.compile(r"\btitan rtx\b"), "sm_75"),
)
"""Names that the tables lack. Source: developer.nvidia.com/cuda-legacy-gpus and cuda-gpus, as of 2026-08."""


class NamedGpu(NamedTuple):
    vendor: str
    arch: str


@lru_cache(maxsize=4096)
def gpu_by_name(name: str) -> NamedGpu | None:
    """The GPU whose name is the longest in the text; None where none is, or where it leaves the architecture open."""
    name = name[:200]
    if found := re.search(r"\bgfx[0-9a-f]{3,4}\b", name):
        return NamedGpu("amd", found[0])
    words = _words(name)
    names = _names()
    best: tuple[int, NamedGpu | None] = (0, None)
    for start in range(len(words)):
        for end in range(min(len(words), start + 6), start, -1):
            key = " ".join(words[start:end])
            if key in names:
                if end - start > best[0]:
                    best = (end - start, names[key])
                break
    low = name.lower()
    if best[1] is None or (best[1].vendor == "amd" and _OF_NVIDIA.search(low)):
        if arch := next((gfx for pattern, gfx in _CODENAMES if pattern.search(low)), None):
            return NamedGpu("amd", arch)
        old = next((arch for pattern, arch in _LEGACY if pattern.search(low)), None)
        tegra = next((arch for word, arch in _TEGRA.items() if re.search(rf"\b{word}\b", low)), None)
        return NamedGpu("nvidia", arch) if (arch := old or tegra) else None
    return best[1]


@kept
def amd_board(name: str | None) -> dict[str, Any]:
    """The row of the product of AMD that has this very name: `AMD Instinct MI325X`, `rx 9070 xt`; {} where none has."""
    words = _words((name or "")[:200])
    rows = table("amd_gpus").values() if words else ()
    found = (row for row in rows if any(_words(known) == words for known in (*row["names"], row["id"])))
    return next(found, {})


def _words(name: str) -> list[str]:
    text = _JOINED.sub(lambda found: f"{found[0]} ", _PARTED.sub("", name.lower()))
    return [w for w in _WORD.findall(text) if w not in _NOISE][:20]


@lru_cache(maxsize=1)
def _names() -> dict[str, NamedGpu | None]:
    """Beginning of a name → GPU; None where GPUs of several architectures begin so."""
    names: dict[str, NamedGpu | None] = {}
    whole: dict[str, NamedGpu] = {}
    for name, gpu in _rows():
        words = _words(re.sub(r"[(\[].*", "", name))
        for end in range(1, len(words) + 1):
            key = " ".join(words[:end])
            if not any(c.isdigit() for c in key) or _SHORT.match(key):
                continue
            if end == len(words):
                whole.setdefault(key, gpu)
            names[key] = gpu if names.get(key, gpu) == gpu else None
    names.update(whole)
    return names


def _rows() -> Iterator[tuple[str, NamedGpu]]:
    for row in table("amd_gpus").values():
        for name in (*row["names"], row["id"]):
            yield name, NamedGpu("amd", row["gfx"])
    for row in table("nvidia_gpus").values():
        if row.get("name"):
            yield row["name"], NamedGpu("nvidia", "sm_" + row["compute_capability"].replace(".", ""))
    for row in table("nvidia_products").values():
        if row.get("compute_capability"):
            yield row["name"], NamedGpu("nvidia", "sm_" + row["compute_capability"].replace(".", ""))
