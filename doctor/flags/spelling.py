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
_ALIKE = 0.7
"""Of difflib, for one word of a name: ENABLED is no slip of DISABLED."""
_OWN = re.compile(
    r"(?:NVIDIA_(?:REQUIRE_|PRODUCT|PYTORCH|BUILD|CUDA)|CUDA_(?:ARCH|VERSION)|TORCH_(?:VERSION|CUDA))\w*$"
)
"""Names that images give themselves."""


def is_known(name: str) -> bool:
    return name in _known() or name in table("flags/names")


@kept
def nearest(name: str) -> str | None:
    """The name that is read and that this one is a slip away from."""
    if len(name) > _LONGEST or is_known(name) or _OWN.match(name):
        return None
    if name.upper() != name:
        return name.upper() if name.upper() in _read() else None
    if not name.startswith(FAMILIES):
        return _other_family(name)
    import difflib

    family = name.split("_")[0]
    near = [n for n in _by_family().get(family, ()) if abs(len(n) - len(name)) <= 3]
    numbers = re.findall(r"\d+", name)
    near = [n for n in near if _shape(n).numbers == numbers]  # MAX_A2 beside MAX_A1 is another name
    found = difflib.get_close_matches(name, near, 1, _NEAR)
    if found and _slips(name, found[0]):
        return found[0]
    words = sorted(name.split("_"))
    bare = name.replace("_", "")
    swapped = next((n for n in near if sorted(_shape(n).words) == words), None)
    mine = name.split("_")
    alike = (n for n in _by_family().get(family, ()) if _shape(n).bare == bare or _longer(mine, _shape(n).words))
    return swapped or next(alike, None)


class _Shape(NamedTuple):
    bare: str
    words: list[str]
    numbers: list[str]


@cache
def _shape(known: str) -> _Shape:
    """Of a name that is read: there are a few thousand of them."""
    return _Shape(known.replace("_", ""), known.split("_"), re.findall(r"\d+", known))


_OF_VALUES = frozenset(("SEC", "SECS", "MS", "MB", "BYTES", "DIR", "PATH", "FILE", "CONF"))
"""Last words of names, which say what the value is."""


def _longer(mine: list[str], theirs: list[str]) -> bool:
    """One word written out, or cut short: ALLOCATOR for ALLOC, DIRECTORY for DIR; or the last one left out."""
    if len(theirs) > 2 and theirs[-1] in _OF_VALUES and theirs[:-1] in (mine, mine[:-1]):
        return mine[-1].startswith(theirs[-1]) or len(mine) < len(theirs)
    if len(mine) != len(theirs):
        return False
    differing = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
    return len(differing) == 1 and _shortens(*sorted(differing[0], key=len), least=3 if len(mine) > 2 else 5)


def _shortens(short: str, word: str, *, least: int) -> bool:
    """VER for VERSION; ATTN for ATTENTION, whose letters come in that order."""
    if len(short) < least or short[0] != word[0]:
        return False
    letters = iter(word)
    return word.startswith(short) or (short[-1] == word[-1] and all(letter in letters for letter in short))


def _other_family(name: str) -> str | None:
    """NCLL_DEBUG: the first word is made of the letters of a family's, and the rest is a name of it. Other libraries
    have names of the same form (HCCL_, MCCL_), so the letters and the first of them must be the same."""
    head, _, tail = name.partition("_")
    for family in FAMILIES:
        word = family.rstrip("_")
        same = set(word) == set(head) and word[:1] == head[:1] and abs(len(word) - len(head)) < 2
        if same and word != head and f"{word}_{tail}" in _read():
            return f"{word}_{tail}"
    return None


def _read() -> frozenset[str]:
    """Names that something reads: not those that were dropped or never were."""
    dropped = {row["name"] for row in table("flags/renames").values() if row["still_read"] == "no"}
    return (_known() | frozenset(table("flags/names"))) - dropped


def _slips(name: str, other: str) -> bool:
    """Whether the words that differ are slips of each other: CUDA for MUSA, or NCCL for UCC, is another name."""
    import difflib

    mine, theirs = name.split("_"), other.split("_")
    if len(mine) != len(theirs):
        fewer, more = sorted((mine, theirs), key=len)
        return not (set(fewer) < set(more) and "" not in more)  # VLLM_AR_… beside VLLM_…
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
    for name in sorted(_read()):
        held.setdefault(name.split("_")[0], []).append(name)
    return held


_RELEASE = re.compile(r"after (\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)|(?:ROCm |transformers )(\d{1,3}(?:\.\d{1,3})?)")
_SAID = {"never_existed": "{} has never read it", "wrong_layer": "it is no variable of the environment to {}"}
_NATIVE = frozenset(("nccl", "rccl", "rocr-hsa", "hip-clr", "pytorch", "pytorch-c10d"))
"""Whose names programs hardly take for variables of their own; launch scripts do so with vLLM's and CMake's."""
_OLDEST = {"nccl": "2.18"}
"""No torch of the last three years brings an older one (torch 2.1 brought 2.18.1): what went before is gone."""


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
        name_of = re.fullmatch(r"[A-Z][A-Z0-9_]+", row.get("use") or "")
        use = f"; {row['use']} {'is what is read' if name_of else 'does that'}" if row.get("use") else ""
        why = _SAID.get(row["status"], "{} no longer reads it").format(row["component"])
        if row["status"] not in _SAID and not at_hand and row.get("when"):
            why += f" ({row['when'][:80]})"
        cure = f"Use {row['use']}." if row.get("use") else f"Drop {name}."
        never = row["status"] == "never_existed" and row["component"] in _NATIVE
        oldest = _OLDEST.get(row["component"])
        long_gone = (
            oldest is not None and re.match(r"\d", row.get("when") or "") and Dotted(row["when"]) < Dotted(oldest)
        )
        undated = bool(at_hand) or not row.get("when")  # without a release: no known one reads it
        sure = never or (undated and row["status"] not in _SAID) or bool(long_gone)
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
