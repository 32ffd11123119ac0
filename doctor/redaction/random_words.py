"""Random words anywhere (`randomness`), shorter ones and hexadecimal ones behind a word that announces a secret or
as the value of a flag or variable.
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

from collections.abc import Iterator

from doctor.redaction.lazy import Lazy
from doctor.redaction.places import lowered
from doctor.redaction.randomness import SURE, random_parts
from doctor.redaction.tally import Tally, masked

_WORD = Lazy(r"[A-Za-z0-9+/_=~.%-]{12,4000}")
_NEAR = Lazy(
    r"passw|secret|token|login|unseal|psk|auth[ _-]?pass|\bauth|community|com2sec|api.?key|credential|http-basic|access.?key|pass\b"
    r"|key\b|(?:seed|recovery) ?(?:key|code|phrase)?|activat|licen[sc]e|webhook"
)
_PUBLIC = Lazy(
    r"(?i)(?:sha-?\d{1,3}\W{0,3}|md5\W{0,3}|\bh1:|hash\W{0,4}|digest\W{0,4}|(?:commit|rev(?:ision)?|fingerprint|checksum|integrity|build.?id|srcversion|etag|public.?key|guid|uuid|thumbprint)s?\b[^\n]{0,40}"
    r"|\b(?:usb|pci|dmi|acpi|hid|input|cpu|virtio|of|platform):\S{0,300}|\bcert\b[^\n]{0,90}|keyring|kernel key|gpg\S{0,3}\s[^\n]{0,60}|ssh-\S{3,20} |ecdsa-\S{3,30} |@)\Z"
)
_VERSION = Lazy(r"\d\.\d{1,4}\.\w")
_VALUE = Lazy(r"(?:\s-{1,2}[A-Za-z][\w.-]{0,60}[ =]?|\b[A-Z][A-Z0-9_]{2,60}=)[\"']?\Z")
_OF_HASH = Lazy(
    r"(?i)sha|md5|digest|hash|commit|rev|uuid|guid|build|version|checksum|crc|sum|addr|mask|etag|src|image|\bid"
)
_HEX = Lazy(
    r"(?:(?<![0-9a-f])(?:[0-9a-f]{10,64}[_.-]){0,2}[0-9a-f]{24,400}(?:_[0-9a-f]{8,64})?|(?<![0-9A-F])[0-9A-F]{24,400})(?![0-9A-Za-z])"
)
_ISSUER = Lazy(
    r"(?:(?:(?<![A-Za-z0-9/])|(?<=%2F))(?!(?:docker|libpod|cri|crio|containerd|container|image|layer|sha\d*|md5|git|commit|build|cache|tmp|pod|disk|uuid|dm|part)[_.~-])"
    r"(?:[A-Za-z][A-Za-z0-9]{0,11}[_.~-]{1,2}){1,3}|\b(?:AC|SK|dapi))\Z"
)
_NAMED_BY_HASH = Lazy(r"[.-][a-z]")
_IN_URL = Lazy(
    r"(?:://[^\s/]{1,200}(?:/(?!blob|commit|sha|package|tree|raw|layer|dist|simple|pool|object|archive|file|resolve)[^\s/]{1,60}){0,3}|:\d{4,5})/\Z"
)
_NEXT = 160
"""Signs behind a word that announces a secret."""
_SHORT = 12
_ONE_CASE = 20


def random_words(text: str, tally: Tally) -> str:
    """The text without them."""
    return masked(text, _found(text), "random", tally)


def _found(text: str) -> Iterator[tuple[int, int]]:
    near = [found.end() for found in _NEAR.finditer(lowered(text))]
    n = 0
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        if not any(map(str.isdigit, word)) and (word.islower() or word.isupper()):
            continue
        while n < len(near) and near[n] <= start:
            n += 1
        between = text[near[n - 1] : start] if n and start - near[n - 1] < _NEXT else "\n\n"
        next_line = between.count("\n") == 1 and between.rstrip().endswith(":")  # the word is alone below it
        announced = ("\n" not in between or next_line) and not _VERSION.search(word)
        yield from ((start + a, start + b) for a, b in _parts(word, text, start, announced=announced))


def _parts(word: str, text: str, start: int, *, announced: bool) -> Iterator[tuple[int, int]]:
    for a, b in random_parts(word, 4.0 if announced else SURE, shortest=_SHORT if announced else 16):
        part = word[a:b]
        one_case = part == part.lower() or part == part.upper()
        if not announced and one_case and (b - a < _ONE_CASE or "/" in word[:a]):
            continue
        if not word.startswith(("AAAA", "_Z")) and not _PUBLIC.search(text[max(0, start + a - 64) : start + a]):
            yield a, b
    for found in _HEX.finditer(word):
        before = text[max(0, start + found.start() - 64) : start + found.start()]
        value = _VALUE.search(before)
        placed = (
            (value and not _OF_HASH.search(value[0]))
            or _IN_URL.search(before)
            or (_ISSUER.search(before) and not _NAMED_BY_HASH.match(word[found.end() :]))
        )
        if (announced or (placed and len(found[0]) >= 32)) and not _PUBLIC.search(before):
            yield found.span()
