"""States that a sentence names: `nvidia-smi works`, `Secure Boot is on`, `/dev/kfd exists`, `in a docker container`.

>>> from doctor.parsers.text.standing import clauses
>>> from doctor.parsers.text.tokens import tokens
>>> row = tokens("nvidia-smi works on the host, Secure Boot is disabled")
>>> [(name, value) for name, value, _ in states_in(row, clauses(row))]
[('nvidia_driver.loaded', True), ('kernel.secure_boot', False)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from doctor.parsers.text.standing import Clause, Standing
from doctor.parsers.text.tokens import Token, closed

_NOT_NOW = closed("t not no never until unless used longer before if only cannot when")
_WORKS = frozenset(("works", "work", "working", "fine", "okay", "ok"))
_SHOWS = frozenset(("shows", "sees", "lists", "detects", "reports", "show", "see"))
_GPUS = frozenset(("gpu", "gpus", "card", "cards", "device", "devices"))
_TRIAL = closed(
    "with without try tried trying works worked helps helped should must fix fixed fixes kvm vm guest solved "
    "recommended"
)
_ENGINES = {
    "docker": "docker",
    "podman": "podman",
    "distrobox": "podman",
    "toolbox": "podman",
    "kubernetes": "kubernetes",
    "k8s": "kubernetes",
    "pod": "kubernetes",
    "lxc": "lxc",
    "lxd": "lxc",
    "incus": "lxc",
    "apptainer": "apptainer",
    "singularity": "apptainer",
    "enroot": "enroot",
}


NAMES = _ENGINES.keys() | closed("smi /dev/kfd amdgpu kernel boot secureboot iommu container")
"""A line without one of them names no state."""


def states_in(row: list[Token], cut: Iterable[Clause]) -> Iterator[tuple[str, Any, Clause]]:
    """Facts with the clause each stands in."""
    for clause in cut:
        words = [token.low for token in row[clause.first : clause.last]]
        plain = [word for word in words if word[0].isalnum()]
        now = not _NOT_NOW & set(words)
        if "smi" in words and "nvidia" in words and now and _smi_works(plain):
            yield "nvidia_driver.loaded", True, replace(clause, standing=Standing.HERE)
        if (
            now
            and any(word == "/dev/kfd" for word in words)
            and {"present", "there", "exists", "accessible"} & set(words)
        ):
            yield "kfd.present", True, clause
        if now and "amdgpu" in plain and "loaded" in plain[plain.index("amdgpu") :]:
            yield "amdgpu_driver.loaded", True, clause
        if "tree" in plain and "in" in plain and "amdgpu" in plain:
            yield "amdgpu_driver.source", "in-tree", clause
        if now and len(plain) <= 8 and (flavour := _modules(plain)):
            yield "nvidia_driver.flavour", flavour, clause
        yield from _boot(plain, clause)
        if ":" not in words and "=" not in words:  # the field of a form, which may say no
            yield from _inside(plain, clause)


def _smi_works(plain: list[str]) -> bool:
    behind = plain[plain.index("smi") + 1 :][:7]
    if _WORKS & set(behind):
        return True
    return bool(_SHOWS & set(behind)) and bool(_GPUS & set(behind))


def _modules(plain: list[str]) -> str:
    """`the open kernel modules`: the flavour, where little else is said; a longer sentence may tell of another's."""
    for at, word in enumerate(plain):
        behind = [w for w in plain[at + 1 : at + 5] if w not in ("source", "gpu", "nvidia")]
        if word in ("open", "proprietary") and behind[:1] == ["kernel"] and behind[1:2] in (["modules"], ["module"]):
            return word if not {"need", "needs", "may", "requires"} & set(plain) else ""
    return ""


def _boot(plain: list[str], clause: Clause) -> Iterator[tuple[str, Any, Clause]]:
    text = " ".join(plain)
    for words in ("secure boot", "secureboot"):
        _, met, behind = text.partition(words)
        state = next((w for w in behind.split()[:2] if w in ("enabled", "disabled", "on", "off")), "") if met else ""
        if state:
            yield "kernel.secure_boot", state in ("enabled", "on"), clause
    _, met, behind = text.partition("iommu")
    if met and not _TRIAL & set(plain) and not _NOT_NOW & set(plain):
        if {"disabled", "off"} & set(behind.split()[:3]):
            yield "host.iommu", "off", clause
        elif behind.split()[:1] == ["translated"]:
            yield "host.iommu", "translated", clause


def _inside(plain: list[str], clause: Clause) -> Iterator[tuple[str, Any, Clause]]:
    """`in(side) a docker container`: where what the text tells of goes on."""
    for at, word in enumerate(plain):
        if word not in ("inside", "in", "within"):
            continue
        behind = [w for w in plain[at + 1 : at + 5] if w not in ("a", "an", "the", "my", "our", "of", "this")]
        engine = next((_ENGINES[w] for w in behind[:2] if w in _ENGINES), "")
        if "container" in behind[:3] or engine:
            yield "container.inside", True, clause
            if engine:
                yield "container.engine", engine, clause
            return
