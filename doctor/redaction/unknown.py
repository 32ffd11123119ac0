"""Names by what they are not: a word that no documentation, package or source of the field has (`data/words.txt`) is a
name where a name may stand: with a digit or a dash, as a whole value, in a pair of capitalised words.

>>> sorted(unknown("peer brontosaur12<4123> of kluizenaar-web, --rdzv-id=spechtlauf ring gfx_0.0.0 timeout"))
[('host', 'brontosaur12'), ('host', 'kluizenaar-web'), ('project', 'spechtlauf')]
>>> list(unknown("amdgpu_ras_eeprom_init: FETCHADD_64 librhash0 1.4.3, _ZN3c1021throwNullDataPtrErrorEv /lib/kolibri"))
[]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from doctor.redaction.lazy import Lazy
from doctor.redaction.vocabulary import is_ordinary, listed

_LETTERS = Lazy(r"[A-ZÀ-Þ]?[a-zß-ÿ]{3,}|[A-ZÀ-Þ]{4,}(?![a-zß-ÿ])")
_TOKEN = Lazy(r"(?:(?<![\w\\%$&#])|(?<=%2F))(?<![A-Za-z_)\]]\.)[^\W\d_]\w{0,80}(?:[.-]\w{1,80}){0,6}")
_SMALL = Lazy(r"[a-zß-ÿ]+[a-zß-ÿ0-9]*(?:[-_][a-zß-ÿ0-9]+)*")
_PERSONAL = Lazy(r"(?<![a-zß-ÿ])[a-zß-ÿ]{1,40}\.(?:[a-zß-ÿ]|[a-zß-ÿ]{4,40})")
_LARGE = Lazy(r"[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*")
_PLAIN = Lazy(r"[A-ZÀ-Þ]?[a-zß-ÿ]{3,}")
_HEX = Lazy(r"[0-9a-f]+")
_OF_SYSTEM = Lazy(r"lib[a-z]|(?:veth|cali|lxc|tap|vnet|cni|br)-?[0-9a-f]{6,11}\Z")
"""Libraries and network interfaces."""
_PADDED = Lazy(r"(?![0-9a-f-]+\Z)[a-z]{4,14}(?:-[a-z]{2,14})?-?0\d{1,3}")
"""Whatever its word is, hardly anything but a machine has such a number."""
_SHORTEST = 4
_LONG_CAPITALS = 7
"""Shorter ones are blocks of a chip: `UTCL2`."""
_ENDS = ("s", "es", "ed", "ing", "ly")
_BEGINS = ("un", "re", "non", "pre", "sub", "gpu", "cpu", "cuda", "rocm")
_KEY = Lazy(r"(?:([\w./-]{2,60})[\"']?[ \t]{0,20}[=:][ \t]{0,30}[\"'\[]?|\s(--?[A-Za-z][\w-]{0,40})[ =][\"']?)\Z")
_WORD_BEFORE = Lazy(
    r"(?i)(?:^|[\s(\[])(?:on|for|by|ask|at|as|user|users|host|hosts|node|nodes|server|cluster|queue|account|project|team|"
    r"group|partition|named|called|owner|author|run|login|machine|pod|job|container|volume|namespace|tenant|exec|logs|"
    r"inspect|attach|für|von|bei|rechner|benutzer|knoten|utilisateur|serveur|usuario|servidor|utente|pour|par|para|por|"
    r"voor|door|regards,|thanks,|cheers,)[\s:]{1,2}[\"'`]?@?\Z"
)
_GAP_BEFORE = Lazy(r"(?:\A|\n|\t|  |[\"'`(\[{,;|@:<]) ?\Z")
_GAP_BEHIND = Lazy(r"[\"'`]?(?:[,;)}\]|>]|\(\d|[%$#>]\s|[ \t]?(?:\n|\Z)|\t|  |:(?=[^\s:])|[\"'`])")
_VERSION_BEHIND = Lazy(
    r"[\"']?(?:[=<>~!]=|@|/[a-z]+ \d|:(?:amd64|all|arm64)|[ \t:=,\"'|(v-]{1,40}(?:\d+:)?\d+\.\d|"
    r"\.(?:so|py|cpp|hpp|[chm]|cu|hip|json|ya?ml|ko|service|bin|dat|whl|deb|rpm)\b|\((?!r[ow]\b|\d))"
)
_KEY_BEHIND = Lazy(r"[\"']?[ \t]{0,30}(?:=|:(?=\s|\Z))|[\"']\s?:")
_TAG = Lazy(r"(?:\A|[^\w) ] ?|  )</?\Z")
_OF_PROGRAM = Lazy(
    r"(?i)[\w ./<>\"'-]{0,60}(?<![a-z])(?:model|product|part|family|vendor|manufacturer|firmware|version|modalias)"
    r"(?![a-z])[\w ]{0,20}[\"']?[ \t]{0,30}[:=]"
)
_PERSON = Lazy(
    r"(?<![\w./-])[A-ZÀ-Þ][a-zß-ÿ'’]{2,24}(?: (?:v[ao]n|de[rnlia]?|d[aio]|l[ae]|bin|al|ter|[A-Z]\.?))?"
    r"(?:[ -][A-ZÀ-Þ][a-zß-ÿ'’-]{2,24}){1,2}(?![\w(])"
)
_SPOKEN = Lazy(r"(?<![\w./=-])[^\W\d_]+(?![\w/=-])")


@lru_cache(maxsize=16384)
def is_known(word: str) -> bool:
    """Whether the field has the word, or one that it is a form of."""
    low, words = word.lower(), listed("words")
    forms = (
        low,
        *(low[: -len(end)] for end in _ENDS if low.endswith(end)),
        *(low[len(b) :] for b in _BEGINS if low.startswith(b)),
    )
    return any(form in words or len(form) < 2 for form in forms)


@lru_cache(maxsize=16384)
def is_strange(name: str) -> bool:
    """Whether a part of it is no word of the field."""
    parts = [part for part in _LETTERS.findall(name) if len(part) >= _SHORTEST and not _HEX.fullmatch(part.lower())]
    known = all(map(is_known, parts)) and not _PADDED.fullmatch(name)
    return not known and not is_ordinary(name) and not _OF_SYSTEM.match(name)


def is_name_like(name: str) -> bool:
    """Whether people name something so: in small letters, in capitals with a digit or a dash, or `first.last`."""
    first, dot, last = name.partition(".")
    if dot:
        return (
            bool(_PERSONAL.fullmatch(name))
            and is_strange(f"{first}-{last}")
            and all(len(x) < _SHORTEST or is_strange(x) for x in (first, last))
        )
    return bool(
        _SMALL.fullmatch(name)
        or _PLAIN.fullmatch(name)
        or (_LARGE.fullmatch(name) and not name.isalpha() and len(name) >= _LONG_CAPITALS)
    )


def unknown(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each."""
    for found in _TOKEN.finditer(text):
        name = found[0]
        if is_strange(name) and name.count("_") < 2 and not _VERSION_BEHIND.made.match(text, found.end()):
            kind = _kind(name, text, *found.span())
            if kind:
                yield kind, name
    for found in _PERSON.finditer(text):
        words = [w for w in re.split(r"[ -]", found[0]) if len(w) >= _SHORTEST]
        if len(words) > 1 and is_strange(words[0]):
            yield "user", found[0]


def _kind(name: str, text: str, start: int, end: int) -> str:
    if not is_name_like(name) or end - start == len(text):
        return ""  # a text of one word: a file of a folder, a package
    before, behind = text[max(0, start - 70) : start], text[end : end + 1]
    numbered = any(map(str.isdigit, name)) or "-" in name
    firm = numbered and "." not in name and "_" not in name
    if before[-1:] in ("/", "+", "-") or behind == "/":
        return ""
    if firm and (before[-1:] in ("", "\n") and text[end : end + 2] == ": "):
        return "host"
    if _KEY_BEHIND.made.match(text, end) or (behind == ">" and _TAG.search(before)):
        return ""
    if firm:
        line = text[max(text.rfind("\n", 0, start) + 1, start - 200) : start]
        return "" if _OF_PROGRAM.match(line) else "host"
    if before[-1:] == "@" or behind == "@" or _WORD_BEFORE.search(before):
        return "user"
    if (
        before[-1:] in ("", " ", "\t", "\n")
        and behind in ("", " ", "\t", "\n")
        and name.islower()
        and not _is_prose(text, start, end)
    ):
        return "project"
    key = _KEY.search(before)
    if not _GAP_BEHIND.made.match(text, end) and not (key and behind == " " and (key[2] or before[-1:] != " ")):
        return ""
    if key:
        words = re.split(r"[^a-z]+", (key[1] or key[2]).lower())
        return "" if any(word in listed("program_keys") for word in words) else "project"
    return "project" if _GAP_BEFORE.search(before) else ""


def _is_prose(text: str, start: int, end: int) -> bool:
    """Whether the line is a sentence, in whatever language: it has words that join others, or mostly unknown ones."""
    line = text[max(text.rfind("\n", 0, start) + 1, start - 200) : min(len(text), end + 200)].partition("\n")[0]
    words, joining = _SPOKEN.findall(line), listed("joining")
    return sum(word.lower() in joining for word in words) > 0 or sum(map(is_strange, words)) * 3 > len(words) + 3
