"""A second look at a bundle, by another way than redaction's: words that look random by their entropy, names of hosts
that are not known to be public, capitalised words that no other text of the field uses, addresses; and detect-secrets
where it is installed. It tells what a person should look at, and never that there is nothing.
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

import base64
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doctor.bundle.pack import CAPTURE, MANIFEST
from doctor.redaction.public_hosts import is_public

if TYPE_CHECKING:
    from doctor.bundle.open import Bundle

_PIECE = re.compile(r"[A-Za-z0-9+/=_~-]{16,4096}")
_HOST = re.compile(r"(?<![\w.@/-])(?:[a-zA-Z0-9-]{1,63}\.){1,8}[a-zA-Z]{2,24}(?![\w(-])")
_URL_HOST = re.compile(r"://(?:[^\s/@]{0,100}@)?([A-Za-z0-9.-]{1,255})")
_NAME = re.compile(r"(?<![\w.:/-])[A-Z][a-z]{2,20}(?: [A-Z][a-z]{2,20}){1,2}(?![\w-])")
_SMALL = re.compile(r"(?<![A-Za-z])[a-z]{3,20}(?![A-Za-z])")
"""A name of a person is hardly a word that is written small elsewhere."""
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_STAND_IN = re.compile(
    r"(?:user|host|mail|group|project|site|serial)-[0-9a-f]{4,8}|198\.1[89]\.[\d.]+|\[secret\]|02:00:00:"
)
_HASHED = re.compile(r"(?i)sha\d{1,3}|digest|commit|hash|rev|build|srcversion|uuid|guid|GPU-|MIG-|\bmd5")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F-]+")
_ENTROPY = 3.9
_ENTROPY_OF_HEX = 3.0
_SHORT_SECRET = re.compile(
    r"(?i)(?:pass\w{0,6}|pwd|secret|token|api.?key|psk|credentials?)[\"']?\s{0,3}(?:[:=]|\bis\b)\s{0,3}[\"']?([^\s\"',;\[]{4,200})"
)
_ENDS = ("com net org edu gov io ai de fr uk eu ch at nl se no es it pl cz ru in cn jp kr br ca au us local lan corp intranet internal"
         " example invalid hpc cluster".split())  # fmt: skip


class Seen(NamedTuple):
    """Something that a person should look at: where, what kind, and the word itself."""

    name: str
    line: int
    kind: str
    word: str


def scan(bundle: Bundle, known: Iterable[str] = ()) -> list[Seen]:
    """What is left in each file, the likeliest secrets first; `known` are names of people and hosts that the reader
    knows. The report that the recording gives says the same as it, and the manifest holds hashes: neither is read."""
    names = [word.lower() for word in known if len(word) >= 3]
    found: dict[tuple[str, str], Seen] = {}
    small: set[str] = set()
    for name, content in sorted(bundle.files.items()):
        if _says_it_again(name):
            continue
        for line, text in _lines(name, content):
            small.update(_SMALL.findall(text))
            for kind, word in _of_line(text, names):
                found.setdefault((kind, word), Seen(name, line, kind, word))
    kept = [s for s in found.values() if s.kind != "capitalised name" or small.isdisjoint(s.word.lower().split())]
    return sorted(kept, key=lambda seen: (_ORDER.index(seen.kind), seen.name, seen.line))


_ORDER = "known name|detect-secrets|behind a secret's name|random word|address|domain|capitalised name".split("|")


def _of_line(text: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    low = text.lower()
    yield from (("known name", name) for name in names if name in low)
    for found in _SHORT_SECRET.finditer(text):
        if not _STAND_IN.search(found[1]) and entropy(found[1]) > 2.2 and any(c.isdigit() for c in found[1]):
            yield "behind a secret's name", found[1]
    if not _HASHED.search(text):
        for found in _PIECE.finditer(text):
            if _is_random(found[0]) and not _STAND_IN.search(found[0]):
                yield "random word", found[0]
    for found in _ADDRESS.finditer(text):
        parts = [int(part) for part in found[0].split(".")]
        if (
            max(parts) < 256
            and parts[0] >= 10
            and parts[0] not in (127, 255)
            and parts[:2] not in ([198, 18], [198, 19])
        ):
            yield "address", found[0]
    hosts = {found[1] for found in _URL_HOST.finditer(text) if "." in found[1]} | set(_HOST.findall(text))
    for host in hosts:
        end = host.lower().rpartition(".")[2]
        if end in _ENDS and not is_public(host) and not _STAND_IN.match(host):
            yield "domain", host
    for found in _NAME.finditer(text):
        yield "capitalised name", found[0]


def entropy(word: str) -> float:
    """Bits a sign, by how often each occurs in it."""
    return -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())


def _is_random(word: str) -> bool:
    if _HEXADECIMAL.fullmatch(word):
        return len(word) >= 24 and entropy(word) > _ENTROPY_OF_HEX
    parts = [part for part in re.split(r"[/=_.~%+-]", word) if len(part) >= 12]
    return any(
        entropy(p) > min(_ENTROPY, math.log2(len(p)) - 0.55)
        and any(map(str.isdigit, p))
        and p.lower() != p != p.upper()
        for p in parts
    )


def by_detect_secrets(bundle: Bundle) -> list[Seen] | None:
    """What detect-secrets (the extra `scan`) sees with its own plugins and filters; None where it is not installed."""
    try:
        from detect_secrets.core.scan import scan_file
        from detect_secrets.settings import default_settings
    except ImportError:
        return None
    found = []
    with tempfile.TemporaryDirectory() as folder, default_settings():  # mode of the folder: 0700
        path = Path(folder, "file.txt")
        for name, content in sorted(bundle.files.items()):
            if not _says_it_again(name):
                path.write_bytes(content)
                found += [
                    Seen(name, s.line_number, "detect-secrets", f"{s.type}: {s.secret_value or ''}")
                    for s in scan_file(str(path))
                ]
    return found


def _says_it_again(name: str) -> bool:
    return name == MANIFEST or name.startswith("report.")


def _lines(name: str, content: bytes) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; of a recording each answer line by line, under the number of its question."""
    text = content.decode("utf-8", "replace")
    if name != CAPTURE:
        yield from enumerate(text.splitlines(), 1)
        return
    entries = json.loads(text).get("entries", {})
    line = place = 0
    for key, entry in entries.items():
        at = text.find(json.dumps(key) + ":", place)
        if at >= 0:
            line, place = line + text.count("\n", place, at), at
        for part in (*_texts(key), *_texts(_decoded(key, entry))):
            for row in part.splitlines():
                yield line + 1, row


def _texts(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for name, value in data.items():
            yield f"{name}={value}" if isinstance(value, str) and "\n" not in value else str(name)
            if not isinstance(value, str) or "\n" in value:
                yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)


def _decoded(key: str, entry: object) -> object:
    """What recorded bytes say, where they are a text: of their base64 any piece looks random."""
    if not key.startswith("bytes:") or not isinstance(entry, dict) or not isinstance(entry.get("value"), str):
        return entry
    try:
        return base64.b64decode(entry["value"], validate=True).decode()
    except ValueError:
        return None
