"""States that a sentence names: `in a docker container`, `Secure Boot is disabled`.

>>> from doctor.parsers.text.standing import clauses
>>> from doctor.parsers.text.tokens import tokens
>>> row = tokens("nvidia-smi fails inside the podman container, not on the host")
>>> [(name, value) for name, value, _ in states_in(row, clauses(row))]
[('container.inside', True), ('container.engine', 'podman')]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from doctor.parsers.text.standing import Clause
from doctor.parsers.text.tokens import Token

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


NAMES = _ENGINES.keys() | {"container", "boot", "secureboot", "nouveau"}
"""A line without one of them names no state."""


def states_in(row: list[Token], cut: Iterable[Clause]) -> Iterator[tuple[str, Any, Clause]]:
    """Facts with the clause each stands in."""
    for clause in cut:
        words = [token.low for token in row[clause.first : clause.last]]
        plain = [word for word in words if word[0].isalnum()]
        yield from _boot(" ".join(plain).replace("secureboot", "secure boot"), clause)
        if _has_gpu(plain):
            yield "kernel.modules", ["nouveau"], clause
        if ":" not in words and "=" not in words:  # the field of a form, which may say no
            yield from _inside(plain, clause)


def _boot(text: str, clause: Clause) -> Iterator[tuple[str, Any, Clause]]:
    behind = text.partition("secure boot")[2].split()[:2]
    if state := next((word for word in behind if word in ("enabled", "disabled", "on", "off")), ""):
        yield "kernel.secure_boot", state in ("enabled", "on"), clause


def _has_gpu(plain: list[str]) -> bool:
    """`nouveau is still loaded`, `using nouveau`: not what is blacklisted, or not loaded."""
    at = plain.index("nouveau") if "nouveau" in plain else len(plain)
    behind = plain[at + 1 : at + 6]
    held = not _LOADED.isdisjoint(behind) or not {"using", "uses"}.isdisjoint(plain[max(at - 2, 0) : at])
    return held and _GONE.isdisjoint(plain)


_LOADED = frozenset(("loaded", "loads", "bound", "owns", "holds", "grabs", "active", "use"))
_GONE = frozenset(("not", "no", "t", "never", "blacklist", "blacklisted", "disabled", "unloaded", "removed", "without"))


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
