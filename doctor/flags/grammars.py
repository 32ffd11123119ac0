"""How each component reads the text of a variable: `true` is 0 to NCCL, `True` is off to HIP, `on` stops c10d.

A grammar takes a text and says what the component takes it for. Sources stand in the table flags/grammars, by the
same ids.

>>> read("nccl_int", "true")
Reading(value=0, state='misread', says='reads as 0')
>>> read("clr_bool", "True").value, read("triton_bool", "True").value
(False, True)
>>> read("no_such_grammar", "1") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from doctor.flags import lists
from doctor.flags.reading import Reading
from doctor.knowledge.store import table

_TRUE = frozenset(("1", "true", "yes", "on", "y", "t", "enable", "enabled"))
_FALSE = frozenset(("0", "false", "no", "off", "n", "f", "disable", "disabled", "none"))
_LONGEST = 8192


def read(grammar: str | None, text: str) -> Reading | None:
    """What a component takes the text for; None where the grammar is not known."""
    text = text[:_LONGEST]
    parser = _PARSERS.get(grammar or "")
    row = table("flags/grammars").get(grammar or "", {})
    return parser(text) if parser else _boolean(row, text) if row.get("switch") else _listed(row, text)


def _listed(row: Mapping[str, Any], text: str) -> Reading | None:
    """As the table of grammars has it: `words` or a `pattern` that a text must match, and what becomes of another."""
    if not row.get("words") and not row.get("pattern"):
        return None
    word = text.strip() if row.get("stripped") else text
    fold = str.casefold if row.get("any_case") else str
    fits = row.get("pattern") and re.fullmatch(row["pattern"], word, re.IGNORECASE if row.get("any_case") else 0)
    if fits or fold(word) in map(fold, row.get("words", ())):
        return Reading(int(text) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text, re.ASCII) else text, "taken")
    if not text and row.get("empty") != "other":
        return Reading(None, "ignored", "is ignored: the default stays")
    return Reading(None, row["other"], row["on_invalid"])


def known() -> frozenset[str]:
    """Ids of the grammars that can be read."""
    rows = table("flags/grammars").items()
    return frozenset(_PARSERS) | {n for n, row in rows if row.get("switch") or row.get("words") or row.get("pattern")}


def meant(text: str) -> bool | None:
    """What a person who writes the text wants of a switch; None where it is no such word."""
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def spelt(grammar: str | None, wanted: bool) -> str | None:
    """A text that the grammar takes for on or off."""
    for text in ("1", "true", "True", "TRUE", "y") if wanted else ("0", "false", "False", "n"):
        reading = read(grammar, text)
        if reading and reading.state == "taken" and isinstance(reading.value, (bool, int)) and reading.value == wanted:
            return text
    return None


def source(grammar: str) -> str:
    """Where the grammar was read."""
    return str(table("flags/grammars")[grammar]["source"])


def _boolean(row: Mapping[str, Any], text: str) -> Reading:
    """A switch: its words for on and off, and what every other text counts as."""
    word, other = text.lower() if row.get("any_case") else text, row["switch"]
    if word in row["true_values"] or word in row["false_values"]:
        return Reading(word in row["true_values"], "taken")
    if other == "taken":  # its other texts are sizes and lists, which are read elsewhere
        return Reading(text, "taken")
    if other in ("fails", "ignored"):
        return Reading(None, other, row["on_invalid"])
    value = other == "true"
    wanted = meant(text)
    surprises = wanted is not value and (wanted is not None or text.strip() != "")
    return Reading(value, "misread" if surprises else "taken", f"reads as {'on' if value else 'off'}")


_C_INT = re.compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")
_INT64 = 1 << 63


def c_integer(text: str) -> tuple[int | None, bool]:
    """(value, whole): strtoll with base 0 as NCCL calls it. A text without a number is 0, overflow None."""
    found = _C_INT.match(text)
    if not found:
        return 0, not text
    hexa, octal, decimal = found[2], found[3], found[4]
    digits, base = (hexa, 16) if hexa else (octal, 8) if octal else (decimal, 10)
    if len(digits) > 30:
        return None, True
    number = int(digits, base) * (-1 if found[1] == "-" else 1)
    if not -_INT64 <= number < _INT64:
        return None, True
    return number, found.end() == len(text)


def atoi(text: str) -> tuple[int, bool]:
    """(value, whole): leading decimal digits; hex reads as 0."""
    found = re.match(r"[ \t\n\v\f\r]*([+-]?\d{1,18})", text, re.ASCII)
    return (int(found[1]), found.end() == len(text)) if found else (0, False)


def _nccl_int(text: str) -> Reading:
    if not text:
        return Reading(None, "ignored", "is ignored: the default stays")
    value, whole = c_integer(text)
    if value is None:
        return Reading(None, "ignored", "is out of range: the default stays")
    if whole:
        octal = re.match(r"\s*[+-]?0\d", text) is not None
        return Reading(value, "misread" if octal else "taken", f"reads as {value}, for a leading 0 means octal")
    return Reading(value, "misread", f"reads as {value}")


def _strtol(text: str) -> Reading:
    value, whole = c_integer(text)
    return Reading(value, "taken" if whole and text else "misread", f"reads as {value}")


def _starts_1(text: str) -> Reading:
    value = text.startswith("1")
    return Reading(value, "misread" if meant(text) is not value else "taken", f"reads as {'on' if value else 'off'}")


def _clr_int(text: str) -> Reading:
    value, whole = atoi(text)
    return Reading(value, "taken" if whole else "misread", f"reads as {value}")


def _clr_bool(text: str) -> Reading:
    value = text == "true" or atoi(text)[0] != 0
    wanted = meant(text)
    surprises = (wanted is not None and wanted is not value) or (wanted is None and bool(text) and not atoi(text)[1])
    return Reading(value, "misread" if surprises else "taken", f"reads as {'on' if value else 'off'}")


def _c10d_int(text: str) -> Reading:
    """std::stoi: leading decimal digits; none at all, or more than an int holds, raises."""
    value, whole = atoi(text)
    if not re.match(r"[ \t\n\v\f\r]*[+-]?\d", text, re.ASCII) or not -(1 << 31) <= value < 1 << 31:
        return Reading(None, "fails", "torch raises 'Invalid value for environment variable'")
    return Reading(value, "taken" if whole else "misread", f"reads as {value}")


_PARSERS: dict[str, Callable[[str], Reading]] = {
    "nccl_int": _nccl_int,
    "strtol": _strtol,
    "starts_1": _starts_1,
    "clr_int": _clr_int,
    "clr_bool": _clr_bool,
    "atoi": _clr_int,
    "c10d_int": _c10d_int,
    "visible_rocr": lists.visible_rocr,
    "visible_hip": lists.visible_hip,
    "visible_cuda": lists.visible_cuda,
    "gfx_version": lists.gfx_version,
    "nccl_iflist": lists.interfaces,
    "torch_alloc_conf": lists.allocator,
    "xla_flags": lists.xla_flags,
}
"""Grammars of numbers and lists; the words of an enumeration stand at the flag, not at its grammar."""
