"""Versions and names of a stack among a line's tokens: driver, CUDA, ROCm, torch, packages, system, kernel, engines.

A thing's name, then small words, then a number of the shape that the thing has. Facts are only what the text states:
`ROCm 7.2` is the series 7.2. A number that begins a range, or is a floor, is none.

>>> from doctor.parsers.text.tokens import tokens
>>> [(s.fact, s.value) for s in stated(tokens("ROCm 7.2 on Ubuntu 24.04, driver version is 550.54.14, torch >= 2.6"))]
[('rocm', '7.2'), ('os', 'Ubuntu 24.04'), ('driver', '550.54.14')]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from doctor.parsers.text.stack_names import SHAPES, TABLE
from doctor.parsers.text.tokens import Token, closed, joined, spelled


@dataclass(frozen=True)
class Stated:
    """`first`, `last`: the tokens of the thing and its value. `fact`: a kind, or a fact's name."""

    first: int
    last: int
    fact: str
    value: str


_FILLERS = closed(
    "version versions ver v is was are release at = : ( \" ' ` * _ | - @ build installed here package being "
    "currently toolkit [ == ,"
)
_FILLERS_LIMIT = 6
_SYSTEMS = closed(
    "ubuntu debian fedora centos rhel rocky almalinux opensuse manjaro nixos mint proxmox unraid truenas "
    "cachyos endeavouros bazzite gentoo sles arch windows win xubuntu kubuntu macos"
)
_OF_SYSTEM = closed("linux stream server lts tumbleweed leap - _ desktop version : is pro home")
_FLOORS = frozenset((">", "<", "~", "^", "≥", "≤", "!"))
_OR_MORE = closed("newer later higher above older below earlier lower onwards upwards up")


def stated(row: list[Token]) -> Iterator[Stated]:
    """In order; a thing without a number is left out, except systems and WSL."""
    at = 0
    while at < len(row):
        found = None
        if row[at].low in _FIRST and not _within(row, at):
            found = _thing(row, at) or _system(row, at) or _wsl(row, at)
        if found:
            yield found
        at = found.last if found else at + 1


def _within(row: list[Token], at: int) -> bool:
    """Whether the token is a part of a longer word, an option or a file's name."""
    if not row[at].glued or not at:
        return False
    last = row[at - 1].text
    return (last[0].isalnum() and last.isascii()) or last in "-_+@/" or (last == "." and at > 1 and row[at - 1].glued)


def _thing(row: list[Token], at: int) -> Stated | None:
    for words, kind in TABLE.get(row[at].low, ()):
        end = at + len(words)
        if end > len(row) or any(row[at + step].low != word for step, word in enumerate(words)):
            continue
        if not kind:
            return None
        if end < len(row) and row[end].glued and row[end].text in "/\\." and row[at].low != "rocm":
            return None
        return _numbered(row, at, end, kind)
    return None


def _numbered(row: list[Token], at: int, end: int, kind: str) -> Stated | None:
    """The thing with the number that follows it."""
    place = end
    while place < len(row) and place - end < _FILLERS_LIMIT and row[place].low in _FILLERS:
        if row[place].text == "," and row[place - 1].low not in ("torch", "pytorch", "driver"):
            break
        place += 1
    shape = kind.partition(":")[0]
    if kind == "torch" and place < len(row) and (build := _build(row, place)):
        return Stated(at, build[0], "torch_build", build[1])
    if place >= len(row) or not row[place].number:
        return None
    number = row[place]
    last = joined(row, place)
    if shape == "driver" and number.text.isdecimal() and "driver" in row[end - 1].low and _branch(row, place):
        return Stated(at, place + 1, "branch", f"{number.text}.x")
    if not _shaped(number.text, shape) or _open(row, place, last):
        return None
    value = number.text if shape not in ("torch", "kernel", "package") else spelled(row, place, last)
    if shape == "torch" and (label := _build(row, last)):
        value, last = value + label[1], label[0]
    return Stated(at, last, kind, value)


def _shaped(number: str, shape: str) -> bool:
    fewest, most, least, greatest = SHAPES[shape]
    parts = number.split(".")
    return fewest <= len(parts) <= most and least <= int(parts[0][:6]) <= greatest and all(len(p) <= 5 for p in parts)


def _branch(row: list[Token], at: int) -> bool:
    """`driver 535`: three digits of NVIDIA's branches and nothing that makes them a floor or one of several."""
    behind = row[at + 1].low if at + 1 < len(row) else ""
    if behind in ("and", "or", "/", "+", "-", "to", "MB", "mb", "%") or (
        behind and row[at + 1].glued and behind not in ",.;)"
    ):
        return False
    return len(row[at].text) == 3 and 340 <= int(row[at].text) <= 999


def _build(row: list[Token], at: int) -> tuple[int, str] | None:
    """`+cu118`, `+ cu118`, `+rocm6.2`: the end, and the label."""
    if (
        at + 2 < len(row)
        and row[at].text == "+"
        and row[at + 1].low in ("cu", "rocm")
        and row[at + 2].number
        and row[at + 2].glued
    ):
        return at + 3, f"+{row[at + 1].low}{row[at + 2].text}"
    return None


def _open(row: list[Token], at: int, last: int) -> bool:
    """Whether the number is a floor, a bound or one end of a range."""
    before = [token.text for token in row[max(at - 2, 0) : at]]
    if _FLOORS & set(before) or (before == ["=", "="] and at <= 4):  # a line of requirements asks for it
        return True
    behind = row[last].low if last < len(row) else ""
    if behind in ("+", "-", "–", "->", "→", "≥") and row[last].glued:
        label = "".join(token.text[0] for token in row[last + 1 : last + 2] if behind == "+" and token.glued)
        if not label.isalnum():
            return True
    if behind == "." and row[last].glued and last + 1 < len(row) and row[last + 1].glued and row[last + 1].low == "x":
        return False
    after = [token.low for token in row[last : last + 2]]
    return bool(_OR_MORE & set(after)) or after[:1] in (["→"], ["->"]) or after == ["-", ">"] or after == ["=", ">"]


def _system(row: list[Token], at: int) -> Stated | None:
    low = row[at].low
    if low not in _SYSTEMS or (low == "arch" and (at + 1 >= len(row) or row[at + 1].low != "linux")):
        return None
    end = at + 1
    while end < len(row) and end - at < 4 and row[end].low in _OF_SYSTEM:
        end += 1
    if end < len(row) and row[end].number and len(row[end].text) <= 10 and not _open(row, end, end + 1):
        end += 1
    else:
        end = at + 1 + (at + 1 < len(row) and row[at + 1].low in ("linux", "tumbleweed"))
    if end < len(row) and row[end].glued and row[end].text[0] in ".-_/" and end + 1 < len(row) and row[end + 1].glued:
        return None  # `windows.py`, `ubuntu-toolchain`
    if low in ("windows", "win", "mint", "macos") and not row[end - 1].number and not _said_of_system(row, at, end):
        return None
    if low in ("win",) and row[end - 1].text not in ("10", "11"):
        return None
    return Stated(at, end, "os", " ".join(token.text for token in row[at:end] if token.text[0].isalnum()))


def _said_of_system(row: list[Token], at: int, end: int) -> bool:
    """`on Windows`, `Windows,` at the head of a line: not `a window`, `Windows users`."""
    behind = row[end].text if end < len(row) else ""
    before = row[at - 1].low if at else ""
    return (not at or before in ("on", "under", "native")) and (not behind or behind in ",.(:;)")


def _wsl(row: list[Token], at: int) -> Stated | None:
    """`in WSL2`, `WSL 2 - Ubuntu`, `Ubuntu (WSL2)`, or alone on a line."""
    if row[at].low not in ("wsl", "wls"):
        return None
    end = at + 1
    if end < len(row) and row[end].text in ("1", "2"):
        end += 1
    if end < len(row) and row[end].glued and row[end].text[0] in "-_/." and end + 1 < len(row) and row[end + 1].glued:
        return None
    before = {token.low for token in row[max(at - 4, 0) : at]}
    behind = {token.low for token in row[end : end + 3]}
    alone = at == 0 and end >= len(row)
    within = before & {"in", "on", "under", "inside", "within", "using", "via", "running", "through", "into"}
    if alone or within or (before | behind) & _SYSTEMS:
        return Stated(at, end, "host.wsl", "true")
    return None


_FIRST = _SYSTEMS | TABLE.keys() | {"wsl", "wls"}
"""Words with which a thing begins: most words begin none."""
