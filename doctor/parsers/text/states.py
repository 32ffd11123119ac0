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


_SET = {"enabled": True, "on": True, "disabled": False, "off": False}
_UP = {"loaded": True, "running": True, "use": True, "stopped": False, "inactive": False}
_SWITCHES: tuple[tuple[str, str, dict[str, bool], Any, Any], ...] = (
    ("secure boot", "kernel.secure_boot", _SET, True, False),
    ("secureboot", "kernel.secure_boot", _SET, True, False),
    ("numa balancing", "host.numa_balancing", _SET, 1, 0),
    ("fabric manager", "nvidia_driver.fabric_manager.running", _UP, True, False),
    ("fabricmanager", "nvidia_driver.fabric_manager.running", _UP, True, False),
    ("nvidia peermem", "nvidia_driver.peermem_loaded", _UP, True, False),
    ("nvidia uvm", "nvidia_driver.uvm_loaded", _UP, True, False),
    ("nvidia module", "nvidia_driver.loaded", _UP, None, False),
    ("amdgpu module", "amdgpu_driver.loaded", _UP, None, False),
    ("nouveau", "kernel.modules", _UP, ["nouveau"], None),
)
"""What is named, its fact, the words that say on or off, and the fact's value for both; None where that says too
little."""
_NOT = frozenset(("not", "no", "t", "never"))
_REACH = 5
_TRIED = {
    "reboot": (frozenset(("rebooted",)), frozenset(("rebooting", "reboot", "reboots"))),
    "groups": (frozenset(("added", "joined")), frozenset(("adding", "add", "usermod", "member"))),
}
"""What may not help -> words for that it was done, and those that need another word for it."""
_OF_GROUPS = frozenset(("render", "video", "group", "groups"))
_IN_VAIN = frozenset(("tried", "already", "after", "even", "despite", "still", "also"))
_HELPED = frozenset(
    ("works", "worked", "fixed", "fixes", "helps", "helped", "solves", "solved", "gone", "away", "until")
)
NAMES = (
    _ENGINES.keys()
    | _OF_GROUPS
    | _TRIED["reboot"][0]
    | _TRIED["reboot"][1]
    | {"container"}
    | {name.rpartition(" ")[2] for name, *_ in _SWITCHES}
)
"""A line without one of them names no state."""


def states_in(row: list[Token], cut: Iterable[Clause]) -> Iterator[tuple[str, Any, Clause]]:
    """Facts with the clause each is in."""
    for clause in cut:
        words = [token.low for token in row[clause.first : clause.last]]
        plain = [word for word in words if word[0].isalnum()]
        yield from ((fact, value, clause) for fact, value in _switches(plain))
        yield from (("host.tried", what, clause) for what in _TRIED if _in_vain(what, frozenset(plain)))
        if ":" not in words and "=" not in words:  # the field of a form, which may say no
            yield from _inside(plain, clause)


def _switches(plain: list[str]) -> Iterator[tuple[str, Any]]:
    """`Secure Boot is disabled`, `nouveau is still loaded`: the first word behind a thing that says on or off."""
    text = f" {' '.join(plain)} "
    for name, fact, words, on, off in _SWITCHES:
        behind = text.partition(f" {name} ")[2].split()[:_REACH]
        states = (words[word] is _NOT.isdisjoint(behind[:n]) for n, word in enumerate(behind) if word in words)
        value = {True: on, False: off}.get(next(states, None))  # type: ignore[arg-type]
        if value is not None:
            yield fact, value


def _in_vain(what: str, held: frozenset[str]) -> bool:
    """`Tried rebooting`, `I rebooted twice`, `still there after a reboot`; not `rebooting fixes it`."""
    done, named = _TRIED[what]
    said = held & done or (held & named and held & _IN_VAIN)
    if not said or (what == "groups" and not held & _OF_GROUPS):
        return False
    return _NOT.isdisjoint(held - {"t"}) and _HELPED.isdisjoint(held)


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
