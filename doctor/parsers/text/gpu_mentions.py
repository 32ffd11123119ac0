"""Names of GPUs among a line's tokens, in any spelling. Which names there are is the catalogue's to say.

A family's word makes a name (`RTX 5070 Ti`, `MI300X`, `gfx1100`). A number or a short code alone does so with enough
beside it: a suffix, `GPU` or `card`, a size of memory, the vendor, an article as of a thing that somebody has.

>>> from doctor.knowledge.names import gpu_by_name
>>> from doctor.parsers.text.tokens import tokens
>>> [(m.name, m.vendor, m.arch) for m in mentions(tokens("2x 1660 Super with 6gb, after 3090 steps"), gpu_by_name)]
[('GTX 1660 SUPER', 'nvidia', 'sm_75')]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.parsers.text import gpu_beside, gpu_names, gpu_words
from doctor.parsers.text.gpu_names import Lookup, Mention
from doctor.parsers.text.tokens import Token, spelled


def mentions(row: list[Token], lookup: Lookup) -> Iterator[Mention]:
    """In order, not overlapping."""
    near = gpu_beside.near(row)
    at = 0
    while at < len(row):
        found = _at(row, at, lookup, near) if row[at].low in gpu_words.FIRST or row[at].number else None
        if found is None:
            at += 1
            continue
        found = gpu_names.alternatives(row, found, lookup)
        yield replace(found, count=gpu_beside.count(row, found.first, found.last))
        at = max(found.last, at + 1)


def _at(row: list[Token], at: int, lookup: Lookup, near: list[int]) -> Mention | None:
    token = row[at]
    if (
        token.glued
        and at
        and (row[at - 1].text[0].isalnum() and row[at - 1].text.isascii())
        and not gpu_beside.times(row, at)
    ):
        return None  # within a longer word
    start, maker = at, ""
    while (
        at < len(row)
        and at - start < 8
        and (row[at].low in gpu_words.MAKERS or (maker and row[at].low in gpu_words.SKIP))
    ):
        maker = gpu_words.MAKERS.get(row[at].low, maker)
        at += 1
    if at >= len(row):
        return None
    low = row[at].low
    if maker and low in gpu_words.GPU_WORDS and row[at - 1].low in ("amd", "nvidia"):
        return Mention(start, at + 1, maker, "", sure=False)
    if low == "gfx":
        return _gfx(row, start, at)
    if low in ("rtx", "gtx", "rx", "gt") or (low in gpu_words.PLACES and not row[at].number):
        return _of_family(row, start, at, lookup)
    if low == "mi" and at + 1 < len(row) and row[at + 1].number:
        return _code(row, start, at, lookup, "amd", near)
    if low in gpu_words.LETTERS and at + 1 < len(row) and row[at + 1].number and row[at + 1].glued:
        return _code(row, start, at, lookup, maker, near)
    if low in ("pro", "ai", "vii") and maker == "amd":
        return _radeon(row, start, at, lookup)
    return _number(row, start, at, lookup, maker, near) if row[at].number else None


def _gfx(row: list[Token], start: int, at: int) -> Mention | None:
    end = at + 1
    digits = ""
    while (
        end < len(row) and row[end].text[0].isalnum() and row[end].text.isascii() and (row[end].glued or end == at + 1)
    ):
        if not row[end].glued and not (row[end].number and len(row[end].text) >= 3):
            return None
        digits += row[end].low
        end += 1
    hexadecimal = digits.removesuffix("x")  # `gfx110x` names a family
    if not 3 <= len(digits) <= 4 or any(c not in "0123456789abcdef" for c in hexadecimal) or not digits[0].isdigit():
        return None
    return Mention(start, end, "amd", "", f"gfx{digits}")


def _of_family(row: list[Token], start: int, at: int, lookup: Lookup) -> Mention | None:
    family = row[at].low
    end = at + 1
    parts = [family]
    if family in gpu_words.PLACES:
        while end < len(row) and (
            row[end].low in gpu_words.PLACES[family] or (row[end].number and family in ("vega", "jetson"))
        ):
            if row[end].number and (
                len(row[end].text) > 2 or "." in row[end].text or (family == "jetson" and parts[-1] != "tx")
            ):
                break
            parts.append(row[end].low)
            end += 1
        if len(parts) == 1:
            return None
        return gpu_names.named(
            row, start, end, gpu_names.tegra(parts), lookup, "amd" if family in ("strix", "vega") else "nvidia"
        )
    while end < len(row) and row[end].low in ("pro", "a", "-", "_", "quadro", "titan") and end - at < 5:
        if row[end].text not in "-_":
            parts.append(row[end].low)
        end += 1
    if end >= len(row) or not row[end].number or not 3 <= len(row[end].text) <= 4 or "." in row[end].text:
        return None
    if any(token.low == "quadro" for token in row[start:at]):
        parts.insert(0, "quadro")
    if family == "gt" and row[end].text[-1] not in "05":
        return None  # many other products are called GT; a GeForce's number ends with 0 or 5
    found = gpu_names.tailed(row, start, end, parts, lookup, gpu_words.FAMILIES.get(family, "nvidia"))
    if found and parts == ["rtx"] and row[end].text in gpu_words.OF_SEVERAL and found.last == end + 1:
        return replace(found, arch="")
    return found


def _code(row: list[Token], start: int, at: int, lookup: Lookup, maker: str, near: list[int]) -> Mention | None:
    """A letter and a number: `A100`, `MI300X`, `W7900`, `T4`."""
    number = row[at + 1]
    if "." in number.text or len(number.text) > 4:
        return None
    code, end = row[at].low + number.text, at + 2
    if end < len(row) and row[end].glued and row[end].low in gpu_words.ATTACHED | {"xe"}:
        code += row[end].low
        end += 1
    plural = code.endswith("s") and lookup(code) is None
    code = code[:-1] if plural else code
    if end < len(row) and row[end].glued and row[end].text.isascii() and row[end].text[0].isalnum():
        return None
    named = lookup(f"{code}") or lookup(f"quadro {code}") or lookup(f"tesla {code}") or lookup(f"radeon pro {code}")
    strong = code in gpu_words.STRONG_CODES or (row[at].low == "mi" and (number.glued or maker or row[at].text == "MI"))
    if row[at].low == "mi" and not number.glued and not strong:
        return None
    sure: bool = bool(strong) or row[start].low in gpu_words.MAKERS
    had = row[at].text.isupper() and len(number.text) > 1 and gpu_beside.had(row, start, end)
    if not sure and not (named and row[at].text.isupper() and (had or gpu_beside.beside(row, start, end, near))):
        return None
    if named is None and not sure:
        return None
    if named is None and code not in gpu_words.STRONG_CODES and not (maker and row[at].low != "t"):
        return None
    if maker and named and named.vendor != maker:
        return None
    vendor = named.vendor if named else maker or "nvidia"
    return gpu_names.tail(
        row, Mention(start, end, vendor, spelled(row, start, end), named.arch if named else "", 1, sure)
    )


def _radeon(row: list[Token], start: int, at: int, lookup: Lookup) -> Mention | None:
    """`Radeon Pro W7900`, `Radeon AI PRO R9700`, `Radeon VII`."""
    end = at
    while end < len(row) and row[end].low in ("pro", "ai", "vii", "vega") and end - at < 3:
        end += 1
    if end + 1 < len(row) and row[end].low in ("w", "r", "v", "wx") and row[end + 1].number and row[end + 1].glued:
        end += 2
    elif row[end - 1].low != "vii":
        return None
    if end < len(row) and row[end].glued and row[end].low in ("d", "s", "x"):
        end += 1
    return gpu_names.named(row, start, end, spelled(row, start, end), lookup, "amd")


def _number(row: list[Token], start: int, at: int, lookup: Lookup, maker: str, near: list[int]) -> Mention | None:
    """A bare number: `3090`, `7900xtx`, `1660 Super`, `780M`."""
    number = row[at].text
    if "." in number or not 3 <= len(number) <= 4 or number[0] == "0":
        return None
    if start and not maker and (gpu_beside.of_another(row, start) or row[start - 1].low in gpu_words.MAKERS):
        return None  # `Nvidia 570` is a driver, and no RX 570
    behind = row[at + 1] if at + 1 < len(row) else None
    suffix = gpu_words.SUFFIXES.get(behind.low, "") if behind else ""
    if behind and behind.glued and not suffix and not gpu_beside.glued_end(row, at + 1):
        return None
    if behind and behind.glued and behind.low in ("m", "s") and len(number) <= 4:
        named = lookup(f"radeon {number}{behind.low}")
        if named and (maker == "amd" or gpu_beside.beside(row, start, at + 2, near)):
            return gpu_names.named(
                row,
                start,
                at + 2,
                f"radeon {number}{behind.low}",
                lookup,
                "amd",
                name=f"Radeon {number}{behind.text.upper()}",
            )
    families = {"nvidia": ("rtx", "gtx"), "amd": ("rx",)}
    for vendor in (suffix,) if suffix else (maker,) if maker else ("nvidia", "amd"):
        for family in families[vendor]:
            found = lookup(f"{family} {number}")
            if found is None or found.vendor != vendor:
                continue
            mention = gpu_names.tailed(row, start, at, [family], lookup, vendor)
            if mention is None:
                continue
            mention = replace(mention, name=gpu_names.written(mention, row, at, family), sure=bool(maker or suffix))
            if (
                maker
                or (suffix and gpu_beside.firm(row, at))
                or gpu_beside.beside(row, start, mention.last, near)
                or gpu_beside.had(row, start, mention.last)
            ):
                return mention
    return None
