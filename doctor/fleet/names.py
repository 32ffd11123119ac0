"""Node names in Slurm's bracket form.

>>> folded(["n3", "n1", "n2", "n010", "login"])
'login,n[1-3,010]'
>>> expanded("n[08-10,3],login")
['n08', 'n09', 'n10', 'n3', 'login']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,15})")
_PART = re.compile(r"([A-Za-z0-9._-]*)(?:\[([0-9,-]{1,65536})\])?([A-Za-z0-9._-]*)")
_MOST = 1_000_000
"""Names that one list may mean."""


def is_name(text: str) -> bool:
    """Whether a scheduler, ssh and a shell take it as a host name and as nothing else."""
    return _NAME.fullmatch(text) is not None


def folded(names: Iterable[str]) -> str:
    """A list for `--exclude`, `--nodelist` and `scontrol`, without what is no name: it might be read as syntax."""
    plain: list[str] = []
    numbered: dict[str, list[str]] = {}
    for name in sorted(set(filter(is_name, names))):
        match = _NUMBERED.fullmatch(name)
        if match and match[1]:
            numbered.setdefault(match[1], []).append(match[2])
        else:
            plain.append(name)
    rows = [*plain, *(f"{prefix}{_brackets(digits)}" for prefix, digits in numbered.items())]
    return ",".join(sorted(rows))


def _brackets(digits: list[str]) -> str:
    if len(digits) == 1:
        return digits[0]
    return f"[{','.join(_ranges(sorted(digits, key=lambda d: (int(d), len(d)))))}]"


def _ranges(digits: list[str]) -> Iterator[str]:
    """Runs of numbers whose width stays that of the first, as Slurm counts them: 08-10, 8-10, 099-100."""
    first = last = digits[0]
    for text in digits[1:]:
        if text == str(int(last) + 1).zfill(len(first)):
            last = text
            continue
        yield first if first == last else f"{first}-{last}"
        first = last = text
    yield first if first == last else f"{first}-{last}"


def expanded(text: str) -> list[str]:
    """Every name of a list, in its order. InputError where it is none, or more than a million."""
    names: list[str] = []
    for part in _split(text):
        match = _PART.fullmatch(part)
        if not match:
            raise InputError(f"node list {text[:60]!r}: {part[:40]!r} is no name; n[001-004,7],login is the form")
        for middle in _numbers(text, match[2], _MOST - len(names)):
            name = f"{match[1]}{middle}{match[3]}"
            if not is_name(name):
                raise InputError(f"node list {text[:60]!r}: {name[:40]!r} is no host name")
            names.append(name)
    return names


def _split(text: str) -> Iterator[str]:
    part, depth = "", 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if (c == "," and depth <= 0) or c.isspace():
            if part:
                yield part
            part = ""
        else:
            part += c
    if part:
        yield part


def _numbers(text: str, inside: str | None, most: int) -> Iterator[str]:
    if inside is None:
        yield ""
        return
    for piece in inside.split(","):
        first, dash, last = piece.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and len(last) <= 15 and int(first) <= int(last)):
            raise InputError(f"node list {text[:60]!r}: {piece[:40]!r} is no number or range")
        most -= int(last) - int(first) + 1
        if most < 0:
            raise InputError(f"node list {text[:60]!r}: more than {_MOST} nodes")
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))
