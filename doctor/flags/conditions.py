"""Conditions of the interactions between flags, as data: True, False, or None where it can't be known.

A condition is a line of atoms joined by ` or `; ` not ` before an atom turns it. Atoms:

    NAME set|unset|filled|empty         NAME on|off          the switch as its own grammar reads it
    NAME == V, != V, in A|B, notin A|B  on the text; an unset name is != and notin
    NAME < N (<=, >, >=)                on the number that its grammar reads
    NAME ~ REGEX, has TEXT              anywhere in the text
    vendor amd   gfx in A|B, notin A|B, only A|B   gfx ~ REGEX   cc < 9.0   class in A|B   gpus > 1   models > 1
    ver NAME < V                        ver torch ~ REGEX
    pkg NAME     ctx WORD               a package is installed; the job is of that kind
    check NAME                          a function of doctor/flags/checks.py

A name may hold `*`; it then stands for each variable that matches.

>>> from doctor.flags.situation import Situation
>>> holds("NCCL_P2P_DISABLE on or NCCL_SHM_DISABLE on", Situation({"NCCL_P2P_DISABLE": "1"}))
True
>>> holds("NCCL_P2P_DISABLE on", Situation({"NCCL_P2P_DISABLE": "true"}))
False
>>> holds("vendor amd", Situation({})) is None
True
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from doctor.flags import checks, grammars
from doctor.flags.names import grammar_of
from doctor.flags.situation import Situation, release

_COMPARE: dict[str, Callable[[object, object], bool]] = {
    "<": operator.lt,  # type: ignore[dict-item]
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
    "==": operator.eq,
    "!=": operator.ne,
}


class Atom(NamedTuple):
    subject: str
    test: str
    value: str
    turned: bool = False

    @property
    def is_variable(self) -> bool:
        return not self.subject[:1].islower()


@lru_cache(maxsize=2048)
def atoms(line: str) -> tuple[Atom, ...]:
    """The atoms of a line, of which one must hold. Raises ValueError for a line that is none."""
    return tuple(_atom(part) for part in line.split(" or "))


def _atom(text: str) -> Atom:
    turned = text.startswith("not ")
    words = text.removeprefix("not ").split(" ", 2)
    if words[0] in ("vendor", "pkg", "ctx", "check"):
        words = [words[0], "is", " ".join(words[1:])]
    elif words[0] == "ver":
        name, test, value = words[1], *words[2].split(" ", 1)
        words = [f"ver {name}", test, value]
    if len(words) < 2:
        raise ValueError(f"no condition: {text!r}")
    return Atom(words[0], words[1], words[2] if len(words) > 2 else "", turned)


def holds(line: str, situation: Situation) -> bool | None:
    """Whether one of the line's atoms holds; None where none does and one can't be known."""
    found = [_turned(atom, _atom_holds(atom, situation)) for atom in atoms(line)]
    return True if True in found else None if None in found else False


def all_hold(lines: Iterable[str], situation: Situation) -> bool | None:
    found = [holds(line, situation) for line in lines]
    return False if False in found else None if None in found else True


def variables(lines: Iterable[str], situation: Situation) -> tuple[str, ...]:
    """The set variables that the lines speak of: those that a check blames, then the others in order."""
    named = (atom for line in lines for atom in atoms(line) if atom.is_variable)
    spoken = [name for atom in named for name in matching(atom.subject, situation)]
    others = (a.value for line in lines for a in atoms(line) if a.subject == "check")
    found = [n for check in others for n in checks.variables(check, situation)] + spoken
    return tuple(dict.fromkeys(found))


def triggers(lines: Iterable[str]) -> tuple[str, ...]:
    """Names (with `*`) one of which must be set for the lines to hold; () where they may hold with none set."""
    for line in lines:
        found = atoms(line)
        if all(a.is_variable and (a.test in ("unset", "!=", "notin")) == a.turned for a in found):
            return tuple(a.subject for a in found)
    return ()


def _turned(atom: Atom, value: bool | None) -> bool | None:
    return value if value is None or not atom.turned else not value


def matching(name: str, situation: Situation) -> Iterator[str]:
    """The set variables of that name; `*` in it stands for anything."""
    head, star, tail = name.partition("*")
    if not star:
        if name in situation.env:
            yield name
        return
    least = len(head) + len(tail)
    yield from (n for n in situation.env if len(n) >= least and n.startswith(head) and n.endswith(tail))


def _atom_holds(atom: Atom, situation: Situation) -> bool | None:
    if not atom.is_variable:
        return _FACTS[atom.subject.split(" ")[0]](atom, situation)
    if atom.value.startswith("$"):  # two variables compared
        return _compared(atom, situation)
    names = list(matching(atom.subject, situation))
    if not names:
        return atom.test in ("unset", "!=", "notin")
    return any(_variable(atom, name, situation.env[name]) for name in names)


def _compared(atom: Atom, situation: Situation) -> bool:
    texts = [situation.env[name] for name in (atom.subject, atom.value[1:]) if name in situation.env]
    if len(texts) < 2 or atom.test in ("==", "!="):
        return len(texts) > 1 and _COMPARE[atom.test](*texts)
    return all(re.fullmatch(r"\d{1,9}", text) for text in texts) and _COMPARE[atom.test](*map(int, texts))


def _variable(atom: Atom, name: str, text: str) -> bool:
    test, value = atom.test, atom.value
    if test in ("on", "off"):
        return _switch(name, text) is (test == "on")
    if test in ("==", "!="):
        return _COMPARE[test](text.strip(), value)
    if test in ("<", "<=", ">", ">="):
        number = _number(name, text)
        return number is not None and _COMPARE[test](number, float(value))
    return _TEXTS[test](text, value)


_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "set": lambda _text, _value: True,
    "unset": lambda _text, _value: False,
    "empty": lambda text, _value: text == "",
    "filled": lambda text, _value: text.strip() != "",
    "in": lambda text, value: text.strip() in value.split("|"),
    "notin": lambda text, value: text.strip() not in value.split("|"),
    "~": lambda text, value: re.search(value, text[:8192]) is not None,
    "has": lambda text, value: value in text,
}


def _switch(name: str, text: str) -> bool | None:
    """On or off as the component reads it; by its word where the grammar is not known."""
    reading = grammars.read(grammar_of(name), text)
    if reading is None:
        wanted = grammars.meant(text)
        return wanted if wanted is not None or not re.fullmatch(r"\d{1,9}", text) else int(text) != 0
    if isinstance(reading.value, (bool, int)):
        return bool(reading.value)
    return None


def _number(name: str, text: str) -> float | None:
    reading = grammars.read(grammar_of(name), text)
    if reading is not None and isinstance(reading.value, int):
        return float(reading.value)
    found = re.match(r"\s*(-?\d{0,12}(?:\.\d{1,12})?)", text)
    return float(found[1]) if found and found[1] not in ("", "-") else None


def _gfx(atom: Atom, situation: Situation) -> bool | None:
    mine = [a for a in situation.archs or () if a.startswith("gfx")]
    if situation.archs is None:
        return None
    if atom.test == "~":
        return any(re.match(atom.value, arch) for arch in mine)
    among = [a in atom.value.split("|") for a in mine]
    if atom.test == "in":
        return any(among)
    return bool(among) and (all(among) if atom.test == "only" else not any(among))


def _cc(atom: Atom, situation: Situation) -> bool | None:
    """Of NVIDIA's GPUs: sm_90 is 9.0, sm_103 is 10.3."""
    if situation.archs is None:
        return None
    found = [a[3:] for a in situation.archs if a.startswith("sm_")]
    numbers = [float(f"{a[:-1]}.{a[-1]}") for a in found if a.isdigit()]
    return any(_COMPARE[atom.test](n, float(atom.value)) for n in numbers)


def _class(atom: Atom, situation: Situation) -> bool | None:
    """The marketing name holds one of the words."""
    if situation.names is None:
        return None
    words = "|".join(re.escape(w) for w in atom.value.split("|"))
    seen = any(re.search(rf"(?<![A-Za-z0-9])(?:{words})(?![0-9])", name, re.IGNORECASE) for name in situation.names)
    return seen if atom.test == "in" else not seen


def _version(atom: Atom, situation: Situation) -> bool | None:
    component = atom.subject.split(" ")[1]
    at_hand = situation.version(component)
    if atom.test == "~":
        return re.search(atom.value, at_hand) is not None if at_hand else None
    mine, wanted = release(at_hand), release(atom.value)
    if not mine:
        return None
    width = len(wanted) if atom.test in ("==", "!=") else max(len(mine), len(wanted))
    padded = [(*numbers, *(0,) * width)[:width] for numbers in (mine, wanted)]
    return _COMPARE[atom.test](*padded)


def _vendor(atom: Atom, situation: Situation) -> bool | None:
    return atom.value in situation.vendors if situation.vendors is not None else None


def _count(atom: Atom, situation: Situation) -> bool | None:
    known = situation.count if atom.subject == "gpus" else len(situation.names) if situation.names else None
    return _COMPARE[atom.test](known, int(atom.value)) if known is not None else None


_FACTS: dict[str, Callable[[Atom, Situation], bool | None]] = {
    "vendor": _vendor,
    "gfx": _gfx,
    "cc": _cc,
    "class": _class,
    "gpus": _count,
    "models": _count,
    "ver": _version,
    "pkg": lambda atom, situation: situation.has(atom.value),
    "ctx": lambda atom, situation: situation.context(atom.value),
    "check": lambda atom, situation: checks.run(atom.value, situation),
}
