"""Names by what they are not: a word that no documentation, package or source of the field has (`data/words.txt`) is a name where
a name may stand: with a digit or a dash, as a whole value, as a folder, in a pair of capitalised words.

>>> sorted(unknown("peer brontosaur12<4123> of kluizenaar-web, --rdzv-id=spechtlauf ring gfx_0.0.0 timeout /mnt/kolibri/run"))
[('host', 'brontosaur12'), ('host', 'kluizenaar-web'), ('project', 'kolibri'), ('project', 'spechtlauf')]
>>> list(unknown("amdgpu_ras_eeprom_init: FETCHADD_64 librhash0 1.4.3, _ZN3c1021throwNullDataPtrErrorEv /usr/lib/kolibri"))
[]
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from doctor.redaction.lazy import Lazy
from doctor.redaction.vocabulary import is_ordinary

_LETTERS = Lazy(r"[A-ZÀ-Þ]?[a-zß-ÿ]{3,}|[A-ZÀ-Þ]{4,}(?![a-zß-ÿ])")
_TOKEN = Lazy(r"(?<![\w\\%$&#~+.-])[^\W\d_]\w*(?:[.-]\w+){0,6}")
_SMALL = Lazy(r"[a-zß-ÿ]+[a-zß-ÿ0-9]*(?:[-_][a-zß-ÿ0-9]+)*")
_LARGE = Lazy(r"[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*")
_PLAIN = Lazy(r"[A-ZÀ-Þ]?[a-zß-ÿ]{3,}")
_HEX = Lazy(r"[0-9a-f]+")
_SHORTEST = 4
_VALUE_BEFORE = Lazy(r"(?:([\w./-]{2,60})[\"']?(?:[=:]|: {1,30}|[ \t]{0,20}= ?)[\"']?|\s(--?[a-z][\w-]{0,40})[ =][\"']?)\Z")
_VALUE_BEHIND = Lazy(r"[\"']?(?:[,;)}\]]|\s*(?:\n|\Z)|[ \t]{2}|[\"'])")
_VERSION_BEHIND = Lazy(r"[\"']?(?:[=<>~!]=|@|/[a-z]+ \d|:(?:amd64|all|arm64)|[ \t:=,\"'|(v-]{1,40}\d+[.:]\d|\.(?:so|py|cpp|hpp|[chm]|cu|hip|json|ya?ml|ko|service|bin|dat|whl|deb|rpm)\b|\()")
_PERSON = Lazy(r"(?<![\w./-])[A-ZÀ-Þ][a-zß-ÿ'’]{2,24}(?: (?:v[ao]n|de[rnlia]?|d[aio]|l[ae]|bin|al|ter|[A-Z]\.?))?(?:[ -][A-ZÀ-Þ][a-zß-ÿ'’-]{2,24}){1,2}(?![\w(])")
_NO_NAMES = frozenset(
    "version driver arch architecture model product brand vendor manufacturer codename module type state status mode policy algorithm backend format dtype kernel function"
    " symbol library lib error message msg feature features flag flags class op operation level event action method reason option options command cmd device devices governor"
    " scheduler compiler language locale lang plugin engine target package depends requires provides section priority license summary description title subsystem interface".split()
)
"""Keys of values that are words of a program, though no documentation has them."""


@cache
def _known() -> frozenset[str]:
    return frozenset(files("doctor.redaction").joinpath("data/words.txt").read_text("ascii").split())


@cache
def is_known(word: str) -> bool:
    """Whether the field has the word, or one that it is a form of."""
    low = word.lower()
    words = _known()
    return low in words or any(low.endswith(end) and low[: -len(end)] in words for end in ("s", "es", "ed", "ing"))


@cache
def is_strange(name: str) -> bool:
    """Whether a part of it is no word of the field."""
    parts = [part for part in _LETTERS.findall(name) if len(part) >= _SHORTEST and not _HEX.fullmatch(part.lower())]
    return not all(map(is_known, parts)) and not is_ordinary(name)


def unknown(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each."""
    for found in _TOKEN.finditer(text):
        name = found[0]
        if not is_strange(name):
            continue
        start, end = found.span()
        before, behind = text[start - 1 : start] if start else "", text[end : end + 1]
        if before in "/:=" and before or behind == "/":
            pass
        if _VERSION_BEHIND.made.match(text, end):
            continue
        numbered = any(map(str.isdigit, name)) or "-" in name
        if numbered and "." not in name and "_" not in name and before != "/" and behind not in ("/", "=") and (_SMALL.fullmatch(name) or _LARGE.fullmatch(name)):
            yield "host", name
        elif _is_value(text, start, end) and (_SMALL.fullmatch(name) or _PLAIN.fullmatch(name)):
            yield "project", name
    for found in _PERSON.finditer(text):
        words = [w for w in re.split(r"[ -]", found[0]) if len(w) >= _SHORTEST]
        if len(words) > 1 and all(is_strange(word) for word in words):
            yield "user", found[0]


def _is_value(text: str, start: int, end: int) -> bool:
    before = _VALUE_BEFORE.search(text[max(0, start - 70) : start])
    if not before or not _VALUE_BEHIND.made.match(text, end):
        return False
    key = (before[1] or before[2]).lower()
    return not any(part in _NO_NAMES for part in re.split(r"[^a-z]+", key))
