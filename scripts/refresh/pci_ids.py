"""The PCI id database: GPUs that the catalogue has no row for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "the PCI id database"
URL = "https://raw.githubusercontent.com/pciutils/pciids/master/pci.ids"
_VENDORS = {"1002": "amd_gpus", "10de": "nvidia_gpus"}
_NO_PRODUCT = re.compile(r"Engineering Sample|Reserved|NVSwitch|PCI bridge")


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ amd_gpus: 1002:75b8 Aqua Vanjaram [Instinct MI500X]`. The database names all that these vendors ever made: a
    product counts where the catalogue has another one of its chip. Raises ValueError for a page of another form."""
    devices = list(listed(get(URL, {}).decode("utf-8", "replace")))
    if not devices:
        raise ValueError(f"{URL}: lists no device of AMD or NVIDIA")
    held = {id_ for id_, _ in devices if kb.amd_gpus(id_) or kb.nvidia_gpu(id_)}
    chips = {_chip(name) for id_, name in devices if id_ in held}
    for id_, name in devices:
        if id_ not in held and "[" in name and _chip(name) in chips and not _NO_PRODUCT.search(name):
            yield f"+ {_VENDORS[id_[:4]]}: {id_} {name}"


def listed(text: str) -> Iterator[tuple[str, str]]:
    """`("10de:2330", "GH100 [H100 SXM5 80GB]")` of both vendors."""
    vendor = ""
    for line in text.splitlines():
        if found := re.match(r"(\t?)([0-9a-f]{4})  (.+)", line):
            if not found[1]:
                vendor = found[2]
            elif vendor in _VENDORS:
                yield f"{vendor}:{found[2]}", found[3]


def _chip(name: str) -> str:
    return name.partition(" [")[0]
