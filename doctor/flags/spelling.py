"""Names that no component reads: removed, renamed, never there, or a slip away from one that is read.

>>> nearest("NCCL_P2P_DISABEL")
'NCCL_P2P_DISABLE'
>>> nearest("NCCL_P2P_DISABLE") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from doctor.flags.situation import Situation
from doctor.knowledge.store import kept, table
from doctor.versions import Dotted

FAMILIES = (
    "HSA_", "HIP_", "ROCR_", "AMD_", "NCCL_", "RCCL_", "CUDA_", "NVIDIA_", "VLLM_", "PYTORCH_", "TORCH_", "MIOPEN_",
    "ROCBLAS_", "HIPBLASLT_", "TRITON_", "SGLANG_", "FLASH_", "NVTE_", "UCX_", "TORCHINDUCTOR_", "XLA_", "NVSHMEM_",
    "AITER_", "OMP_", "TORCHDYNAMO_", "FI_", "OFI_NCCL_", "GPU_MAX_",
)  # fmt: skip
"""Beginnings of names that belong to one component's family."""
_LONGEST = 60
_NEAR = 0.9
"""Of difflib: one wrong letter in ten."""
_ALIKE = 0.65
"""Of difflib, for one word of a name."""
_OWN = re.compile(r"(?:NVIDIA_(?:REQUIRE|PRODUCT|PYTORCH|BUILD|CUDA)|CUDA_(?:ARCH|VERSION)|TORCH_(?:VERSION|CUDA))\w*$")
"""Names that images give themselves."""


def is_known(name: str) -> bool:
    return name in _known() or name in table("flags/names")


@kept
def nearest(name: str) -> str | None:
    """The name that is read and that this one is a slip away from."""
    if not name.startswith(FAMILIES) or len(name) > _LONGEST or is_known(name) or _OWN.match(name):
        return None
    import difflib

    family = name.split("_")[0]
    near = [n for n in _by_family().get(family, ()) if abs(len(n) - len(name)) <= 3]
    numbers = re.findall(r"\d+", name)
    near = [n for n in near if re.findall(r"\d+", n) == numbers]  # MAX_A2 beside MAX_A1 is another name
    found = difflib.get_close_matches(name, near, 1, _NEAR)
    if found and _slips(name, found[0]):
        return found[0]
    words = sorted(name.split("_"))
    return next((n for n in near if sorted(n.split("_")) == words), None)


def _slips(name: str, other: str) -> bool:
    """Whether the words that differ are slips of each other: CUDA for MUSA, or NCCL for UCC, is another name."""
    import difflib

    mine, theirs = name.split("_"), other.split("_")
    if len(mine) != len(theirs):
        return True
    differing = ((a, b) for a, b in zip(mine, theirs, strict=True) if a != b)
    return all(difflib.SequenceMatcher(None, a, b).ratio() >= _ALIKE for a, b in differing)


def gone(name: str) -> Iterator[dict[str, Any]]:
    """Entries of old names: removed, renamed, never there."""
    yield from (row for row in table("flags/renames").values() if row["name"] == name)


@cache
def _known() -> frozenset[str]:
    rows = table("flags/known_names").values()
    renamed = (row["name"] for row in table("flags/renames").values())
    return frozenset(n for row in rows for n in row["names"]) | frozenset(renamed)


@cache
def _by_family() -> dict[str, list[str]]:
    held: dict[str, list[str]] = {}
    for name in sorted(_known() | set(table("flags/names"))):
        held.setdefault(name.split("_")[0], []).append(name)
    return held


_RELEASE = re.compile(r"after (\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)|(?:ROCm |transformers )(\d{1,3}(?:\.\d{1,3})?)")
_SAID = {"never_existed": "no component has ever read it", "wrong_layer": "it is no variable of the environment"}


class Gone(NamedTuple):
    """A name that nothing reads any more, or never did."""

    why: str
    source: str
    cure: str
    sure: bool
    """False: older releases read it, and the one at hand is not known."""


def no_longer_read(name: str, situation: Situation) -> Gone | None:
    """For the versions at hand; an unknown one counts as new."""
    for row in gone(name):
        if row["still_read"] != "no":
            continue
        since = _RELEASE.search(row.get("when") or "")
        release = (since[1] or since[2]) if since else None
        at_hand = situation.version(_PACKAGES.get(row["component"], row["component"]))
        if release and at_hand and _may_read(Dotted(at_hand), Dotted(release), row, last=bool(since and since[1])):
            return None
        use = f"; {row['use']} is what is read" if row.get("use") else ""
        why = _SAID.get(row["status"], f"{row['component']} no longer reads it")
        if row["status"] not in _SAID and not at_hand and row.get("when"):
            why += f" ({row['when'][:80]})"
        cure = f"Use {row['use']}." if row.get("use") else f"Drop {name}."
        sure = row["status"] in _SAID or bool(at_hand) or not row.get("when")
        return Gone(f"{why}{use}", str(row["source"]), cure, sure)
    return None


def _may_read(at_hand: Dotted, release: Dotted, row: Mapping[str, Any], *, last: bool) -> bool:
    """Whether the release at hand is the last that reads the name or an older one, or lies before the first of those
    compared that is known not to: which one between them dropped it is not known."""
    if not last:
        return at_hand < release
    compared = [Dotted(v) for v in _COMPARED.findall(str(row["source"])) if "comparison of" in str(row["source"])]
    first = min((v for v in compared if v > release), default=None)
    return at_hand <= release or (first is not None and at_hand < first)


_COMPARED = re.compile(r"(?<= )\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?=[,:])")
_PACKAGES = {"huggingface": "transformers", "rccl": "rocm", "hip-clr": "rocm", "rocr-hsa": "rocm"}
