"""How like the words of a text are to those of texts whose cause is known: a table of weights, and shares.

A linear model over words, pairs of neighbours and the error texts of the catalogue that a text holds, made by
scripts/weigh_words.py from texts with known causes. It knows nothing of facts: it says which causes such texts had, and
no more than suspicions rest on it.

>>> sorted(words_of("CUDA 12.4 fails on nvidia-smi"))[:4]
['#', '# fail', 'cuda', 'cuda #']
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "wording.json"
LINE_CHARACTERS = 300
_WORDS_A_LINE = 40
_WORD = re.compile(r"--[a-z][a-z-]{1,29}|[a-z_][a-z0-9_]{0,30}(?:[-./][a-z0-9_]{1,30}){0,6}|\d[\d.]{0,20}")
_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?")
_JOINT = re.compile(r"[-./_]")
_ENDINGS = ("ing", "ed", "es", "s")
_LEAST_STEM = 4
_LEAST_PART = 3
_ALWAYS, _MOST, _WORTH_SPEAKING = 3, 12, 0.02
HEALTHY = "none"
"""The cause of texts in which nothing is wrong with the machine."""


def words_of(line: str) -> Iterator[str]:
    """Words of one line in lower case without endings, the parts of joined ones, and pairs of neighbours, numbers as
    `#`; of 40 words at most."""
    found = [_known_form(word) for word in _WORD.findall(line[:LINE_CHARACTERS].lower())[:_WORDS_A_LINE]]
    for word, parts in found:
        yield word
        yield from parts
    for (one, _), (next_, _) in itertools.pairwise(found):
        yield f"{one} {next_}"


@lru_cache(8192)
def _known_form(word: str) -> tuple[str, tuple[str, ...]]:
    """A word without its ending, and its parts: `container-tools` -> `container-tool`, (`container`, `tool`)."""
    word = _NUMBER.sub("#", word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            word = word[: -len(ending)]
            break
    parts = [part for part in _JOINT.split(word) if len(part) >= _LEAST_PART]
    return word, tuple(parts) if len(parts) > 1 else ()


_SYMPTOM = "symptom:"


def symptom_word(key: str) -> str:
    """What stands for a known error text beside the words: one error has one word, however it is printed."""
    return f"{_SYMPTOM}{key}"


class Like(NamedTuple):
    """A cause, its share of what the words speak for (0 to 1), and the words that speak for it most."""

    cause: str
    share: float
    words: tuple[str, ...]


class Wording:
    """The table. `words`: word → its rarity and the weight it has for each cause that it speaks for or against."""

    def __init__(self, table: Mapping[str, object]) -> None:
        self.causes: list[str] = list(table["causes"])  # type: ignore[call-overload]
        self.base: list[float] = list(table["base"])  # type: ignore[call-overload]
        self.words: dict[str, list[float]] = dict(table["words"])  # type: ignore[call-overload]

    def like(self, words: Collection[str]) -> list[Like]:
        """The three causes whose texts these words are most like, and more that have a share worth speaking of. Nothing
        without a word that the table knows."""
        rows = {word: self.words[word] for word in words if word in self.words}
        if not rows:
            return []
        length = math.sqrt(sum(row[0] ** 2 for row in rows.values()))
        scores = list(self.base)
        for row in rows.values():
            value = row[0] / length
            for at in range(1, len(row), 2):
                scores[int(row[at])] += value * row[at + 1]
        top = max(scores)
        total = sum(math.exp(score - top) for score in scores)
        shares = [math.exp(score - top) / total for score in scores]
        order = sorted(range(len(scores)), key=lambda n: -scores[n])[:_MOST]
        told = [n for place, n in enumerate(order) if place < _ALWAYS or shares[n] >= _WORTH_SPEAKING]
        return [Like(self.causes[n], shares[n], _speaking(rows, n)) for n in told]


def _speaking(rows: Mapping[str, list[float]], cause: int) -> tuple[str, ...]:
    """The words that speak for the cause most, the strongest first; not what stands for an error text."""
    weight = {
        word: row[0] * row[at + 1]
        for word, row in rows.items()
        for at in range(1, len(row), 2)
        if row[at] == cause and not word.startswith(_SYMPTOM)
    }
    return tuple(word for word in sorted(weight, key=lambda w: -weight[w])[:3] if weight[word] > 0)


@cache
def shared() -> Wording:
    """The one that all of a process use."""
    return Wording(json.loads(DATA.read_text("utf-8")))
