"""Words that name no one: those of every machine, of folders, of the field. What is made of them alone is no name.

>>> [is_ordinary(word) for word in ("gpu-operator", "rocm7.2", "node01", "strela-gpu2", "data4")]
[True, True, True, False, True]
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files


@cache
def listed(name: str) -> frozenset[str]:
    return frozenset(files("doctor.redaction").joinpath(f"data/{name}.txt").read_text("utf-8").split())


_PARTS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MODEL = re.compile(
    r"(?:gfx|sm|compute|cu|rocm|hip|py|cp|mi|rtx|gtx|rx|sha|md|utf|fp|bf|int|uint|ed|amd|x|ipv|e?cdsa|aes|rsa|base)_?\d[\w.]*|v\d+(?:[.-]\w+)*|[ablthkpr]\d{1,3}[a-z]{0,2}|\d{1,5}[a-z]{0,3}"
)
"""Models of GPUs, versions, numbers with a unit."""
_OF_REPLICA = re.compile(r"-(?:[a-f0-9]{8,10}-)?(?=[a-z0-9]{0,4}\d)[a-z0-9]{5}\Z")


@lru_cache(maxsize=8192)
def is_ordinary(name: str) -> bool:
    """Whether every part of it is a word of the field, a model or a number: such a name is found at every site."""
    low = name.lower()
    if low in listed("ordinary"):
        return True
    parts = _PARTS.findall(_OF_REPLICA.sub("", name))
    return all(_is_plain(part) or all(map(_is_plain, _CAMEL.split(part))) for part in parts)


def _is_plain(part: str) -> bool:
    low = part.lower()
    bare = low.rstrip("0123456789")
    words = listed("ordinary")
    if low in words or (len(bare) > 1 and bare in words) or _MODEL.fullmatch(low):
        return True
    return (len(low) < 3 and low.isalpha()) or (low[-1:] == "s" and low[:-1] in words)
