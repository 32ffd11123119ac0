"""The whole of a GPU's name, from its family and number on: suffixes, form, memory, further names of one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from doctor.parsers.text import gpu_words
from doctor.parsers.text.tokens import Token, spelled


class Named(Protocol):
    """What the catalogue knows by a name."""

    @property
    def vendor(self) -> str: ...

    @property
    def arch(self) -> str: ...


Lookup = Callable[[str], Named | None]


@dataclass(frozen=True)
class Mention:
    """A GPU in tokens `first` to before `last`. `arch` "" where the name leaves it open; `count` of `2x`, `four`."""

    first: int
    last: int
    vendor: str
    name: str
    arch: str = ""
    count: int = 1
    sure: bool = True
    """The name alone makes it a GPU."""


def tegra(parts: list[str]) -> str:
    """`jetson tx 2` is written `tx2` in the catalogue."""
    whole = (
        ["jetson", *(p for p in parts if p not in ("jetson", "agx"))]
        if {"jetson", "orin", "agx"} & set(parts)
        else parts
    )
    return " ".join(whole).replace("tx 2", "tx2")


def written(mention: Mention, row: list[Token], at: int, family: str) -> str:
    words = [t.text.upper() for t in row[at : mention.last] if t.text[0].isalnum()]
    tail = [{"TI": "Ti"}.get(w, w) for w in words[1:] if w.lower() in gpu_words.SUFFIXES]
    return " ".join((family.upper(), words[0], *tail))


def tailed(row: list[Token], start: int, at: int, parts: list[str], lookup: Lookup, vendor: str) -> Mention | None:
    """A family, its number at `at`, and what belongs to the name behind it."""
    end = at + 1
    words = [*parts, row[at].text]
    while end < len(row) and end - at < 8:
        low = row[end].low
        if (
            row[end].text in ("-", "_")
            and end + 1 < len(row)
            and row[end + 1].low in gpu_words.TAIL - gpu_words.ATTACHED
        ):
            end += 1
            continue
        if (
            low not in gpu_words.TAIL
            or low in ("gpu", "t", "v", "xp")
            or (low in gpu_words.ATTACHED and not row[end].glued and low != "d")
        ):
            break
        if low == "s" and vendor == "nvidia":
            end += 1
            break
        if low == "d" and not row[end].glued and not row[end].text.isupper():
            break
        if low in ("laptop", "mobile", "server", "workstation", "pro", "max") and not row[end].text[0].isupper():
            break
        words += ("ti", "super") if low == "tisuper" else (low,)
        end += 1
    glued = end < len(row) and row[end].glued and row[end].text.isascii() and row[end].text[0].isalnum()
    if glued and not row[end].number and row[end].low not in ("gb", "g", "laptop", "mobile"):
        return None
    return named(row, start, end, joined(words), lookup, vendor)


def joined(words: list[str]) -> str:
    """Letters of a chip or a model are one word with their number: `a 6000` is `a6000`, `6800 m` is `6800m`."""
    text = " ".join(words)
    for letter in ("m", "s", "d"):
        text = text.replace(f"{words[-2]} {letter}", f"{words[-2]}{letter}") if words[-1] == letter else text
    return text.replace(" a ", " a")


def named(
    row: list[Token], start: int, end: int, phrase: str, lookup: Lookup, vendor: str, name: str = ""
) -> Mention | None:
    found = lookup(phrase)
    if found and found.vendor != vendor:
        found = None
    return tail(row, Mention(start, end, vendor, name or spelled(row, start, end), found.arch if found else ""))


def tail(row: list[Token], mention: Mention) -> Mention:
    """With a form and a size of memory that are written as parts of the name: `-SXM4-80GB`."""
    end = mention.last
    while (
        end < len(row)
        and end - mention.last < 8
        and row[end].text in "-_"
        and end + 1 < len(row)
        and row[end + 1].glued
    ):
        step = end + 2
        while step < len(row) and row[step].glued and row[step].text.isascii() and row[step].text[0].isalnum():
            step += 1
        if row[end + 1].low not in ("sxm", "pcie", "nvl") and not (
            row[end + 1].number and row[step - 1].low in ("gb", "g")
        ):
            break
        end = step
    if end == mention.last:
        return mention
    return replace(mention, last=end, name=mention.name + spelled(row, mention.last, end))


def alternatives(row: list[Token], mention: Mention, lookup: Lookup) -> Mention:
    """`RX 6600/6600 XT/6600M`: one device of several names, which may leave the architecture open."""
    end, arch = mention.last, mention.arch
    family = "rx" if mention.vendor == "amd" else "rtx"
    while end + 1 < len(row) and row[end].text == "/" and row[end + 1].number and len(row[end + 1].text) >= 3:
        other = tailed(row, end + 1, end + 1, [family], lookup, mention.vendor)
        if other is None:
            break
        arch = arch if other.arch == arch else ""
        end = other.last
    return (
        mention if end == mention.last else replace(mention, last=end, name=spelled(row, mention.first, end), arch=arch)
    )
