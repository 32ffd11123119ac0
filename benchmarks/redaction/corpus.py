"""The corpora, as they lie beside this file.

A secret is kept in parts of five characters, so that no scanner takes the data for a real one; `«N.M»` in a text is the
M-th piece of the N-th secret. Where a piece has a public prefix (`ghp_`), only its random parts count.
"""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HALVES = (
    "known",
    "independent",
    "tickets",
    "fresh_one",
    "fresh_two",
    "fresh_three",
    "fresh_four",
    "fresh_five",
    "fresh_six",
    "fresh_seven",
    "fresh_eight",
    "fresh_nine",
    "fresh_ten",
    "fresh_eleven",
    "fresh_twelve",
)
"""Of a fresh set, each text (`NAME_texts`) holds names of several kinds (`hidden`), secrets, and facts to `keep`."""
_SPLIT = HALVES[:3]
_HERE = Path(__file__).parent
_RUN = 8
"""Characters in a row of a secret that give it away; all of a shorter one."""


class Planted(NamedTuple):
    """A text, and what must not be left of it: each thing as the strings of which none may be there."""

    kind: str
    text: str
    things: tuple[tuple[str, ...], ...]


def secrets(half: str) -> Iterator[Planted]:
    for row in _rows(f"{half}_texts", f"{half}_secrets"):
        yield Planted(row["kind"], _filled(row), tuple(tuple(_random(secret)) for secret in row["secrets"]))


def identities(half: str) -> Iterator[Planted]:
    for row in _rows(f"{half}_texts"):
        kinds = dict.fromkeys(kind for kind, _ in row["hidden"])
        text = _filled(row)
        yield from (Planted(kind, text, tuple((name,) for k, name in row["hidden"] if k == kind)) for kind in kinds)
    for row in _rows(f"{half}_identities"):
        yield Planted(row["kind"], row["text"], tuple((name,) for name in row["hidden"]))


FACTS = re.compile(
    r"iommu=pt|amd_iommu=on|intel_iommu=on|pci=\w+|nomodeset|pcie_acs_override=\w+|crashkernel=\w+|CUDA_VISIBLE_DEVICES=0"
    r"|NVIDIA_VISIBLE_DEVICES=all|ROCM_PATH=/opt/rocm|LD_LIBRARY_PATH=/opt/rocm/lib|--gpus all|--port \d+|--gpu 0|gpus: 4|model: llama"
    r"|next: 1|PATH=/usr/bin|BOOT_IMAGE=\S+|root=/dev/\w+|\bquiet\b|vers=3\.0|namespace_?|Path=/|region = us-east-2"
)
"""What stands beside a secret and must stay."""


def facts_beside(half: str) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, text and the facts in it."""
    for row in _rows(f"{half}_texts"):
        if row["keep"]:
            yield row["kind"], _filled(row), row["keep"]
    for planted in secrets(half) if half in _SPLIT else ():
        if found := [match[0] for match in FACTS.finditer(planted.text)]:
            yield planted.kind, planted.text, found


def survivors(half: str) -> Iterator[Planted]:
    for row in _rows(f"{half}_keep"):
        yield Planted(row["kind"], row["text"], ())


def is_left(thing: tuple[str, ...], text: str) -> bool:
    """Whether a part of a secret that gives it away is in the text."""
    for value in thing:
        size = min(_RUN, len(value))
        if any(value[n : n + size] in text for n in range(len(value) - size + 1)):
            return True
    return False


def names(thing: tuple[str, ...], text: str) -> bool:
    """Whether a name is in the text, in any case."""
    return any(name.lower() in text.lower() for name in thing)


def _whole(atom: dict[str, Any]) -> str:
    return str(atom["fixed"]) if "fixed" in atom else "".join(atom["random"])


def _random(secret: list[list[dict[str, Any]]]) -> Iterator[str]:
    for piece in secret:
        for atom in piece:
            if len(value := "".join(atom.get("random", ()))) >= 4:
                yield value


def _filled(row: dict[str, Any]) -> str:
    """The text with its secrets in their places."""
    pieces = [["".join(_whole(atom) for atom in piece) for piece in secret] for secret in row["secrets"]]
    return re.sub(r"«(\d+)\.(\d+)»", lambda m: pieces[int(m[1])][int(m[2])], row["text"])


def _rows(*names: str) -> Iterator[dict[str, Any]]:
    """Of the first of these files that is there; of none where none is."""
    for path in (_HERE / f"{name}.jsonl" for name in names):
        if path.exists():
            with path.open(encoding="utf-8") as held:
                yield from map(json.loads, held)
            return
