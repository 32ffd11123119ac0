"""What a pasted text may be about, from its words alone: a linear model, never a finding.

It answers two questions: does somebody report a failure here, and which causes do such texts have. Both answers are
probabilities, calibrated on texts that the model was not trained on (benchmarks/hints.py prints how well).
scripts/train_classifier.py makes the data. Bounded: the first `LINES` lines of a text count, and `WORDS` words of each.

>>> model = shared()
>>> guess = model.guess("docker: Error response from daemon: could not select device driver with capabilities: [[gpu]]")
>>> guess.report > 0.5, guess.causes[0].rule
(True, 'container-runtime-not-configured')
>>> model.guess("Bump the CUDA version of the CI image to 12.8. No functional change, all tests pass.").report < 0.5
True
"""

from __future__ import annotations

import itertools
import math
import re
import struct
import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "classifier.bin"
LINES, CHARACTERS, WORDS = 600, 300, 40
_WORD = re.compile(r"--[a-z][a-z-]{1,29}|[a-z_][a-z0-9_]{0,30}(?:[-./][a-z0-9_]{1,30}){0,6}|\d[\d.]{0,20}")
_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?")
_JOINT = re.compile(r"[-./_]")
_ENDINGS = ("ing", "ed", "es", "s")
HEALTHY = "none"
MOST = 3
LEAST = 10
"""Known words that a text needs for a guess at its cause: hardly one that the probabilities were calibrated on has
fewer, and of a text of one word (`Help!`) they say anything."""


def features(lines: Iterable[str]) -> set[int]:
    """Hashes of the words of a text without endings, the parts of joined ones, and pairs of neighbours; numbers are
    `#`. The same on every machine and in every run."""
    found: set[int] = set()
    for line in itertools.islice((line for line in lines if line.strip()), LINES):
        words = [_stem(word) for word in _WORD.findall(line[:CHARACTERS].lower())[:WORDS]]
        for word, parts in words:
            found.add(_hash(word))
            found.update(parts)
        found.update(_hash(f"{one} {following}") for (one, _), (following, _) in itertools.pairwise(words))
    return found


def _hash(text: str) -> int:
    return zlib.crc32(text.encode()) >> 10  # 22 bits: some 30,000 known features hardly meet, and pack small


@lru_cache(8192)
def _stem(word: str) -> tuple[str, tuple[int, ...]]:
    """A word without its ending, and the hashes of its parts."""
    word = _NUMBER.sub("#", word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    parts = [part for part in _JOINT.split(word) if len(part) >= 3]
    return word, tuple(map(_hash, parts)) if len(parts) > 1 else ()


class Likely(NamedTuple):
    """A cause and the probability that it is the right one, 0 to 1."""

    rule: str
    confidence: float


class Guess(NamedTuple):
    """`report`: the probability that somebody reports a failure. `causes`: the likeliest, three at most."""

    report: float
    causes: tuple[Likely, ...]


class Classifier:
    """The model as scripts/train_classifier.py packs it: see `pack`."""

    def __init__(self, packed: bytes) -> None:
        raw = zlib.decompress(packed)
        head, rest = raw[: raw.index(b"\n")], raw[raw.index(b"\n") + 1 :]
        names, *tables = head.decode().split("|")
        self.causes = names.split(",")
        self.bias, self.curve, self.report_curve = ([float(x) for x in table.split(",")] for table in tables)
        count, weights, self.scale, self.report_scale, self.report_bias = struct.unpack_from("<IIfff", rest)
        at = struct.calcsize("<IIfff")
        steps, at = _array("H", rest, at, count)
        self.rarity, at = _array("B", rest, at, count)
        self.report, at = _array("b", rest, at, count)
        sizes, at = _array("B", rest, at, count)
        self.starts = list(itertools.accumulate(sizes, initial=0))
        self.of, at = _array("B", rest, at, weights)
        self.weight, at = _array("b", rest, at, weights)
        self.place = {key: n for n, key in enumerate(itertools.accumulate(steps))}

    def guess(self, text: str) -> Guess:
        return self.of_features(features(text.splitlines()))

    def of_features(self, found: Iterable[int]) -> Guess:
        """Of what `features` made of a text. Without a word that the model knows nothing is likely."""
        known = sorted(n for n in map(self.place.get, found) if n is not None)
        if not known:
            return Guess(0.0, ())
        length = math.sqrt(sum((self.rarity[n] / 16) ** 2 for n in known))
        scores, report = list(self.bias), self.report_bias
        for n in known:
            value = self.rarity[n] / 16 / length
            report += value * self.report[n] * self.report_scale
            factor, first, last = value * self.scale, self.starts[n], self.starts[n + 1]
            for cause, weight in zip(self.of[first:last], self.weight[first:last], strict=True):
                scores[cause] += factor * weight
        top = max(scores)
        parts = [math.exp(score - top) for score in scores]
        total = sum(parts)
        order = sorted(range(len(scores)), key=lambda n: (-scores[n], self.causes[n]))
        ranked = [n for n in order if self.causes[n] != HEALTHY][: MOST if len(known) >= LEAST else 0]
        likely = (Likely(self.causes[n], round(_on(self.curve, parts[n] / total), 3)) for n in ranked)
        return Guess(round(_on(self.report_curve, 1 / (1 + math.exp(-report))), 3), tuple(likely))


def _on(curve: Sequence[float], share: float) -> float:
    """The calibrated probability: `curve` holds its values at evenly spaced shares from 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(curve) - 1)
    low = min(int(place), len(curve) - 2)
    return curve[low] + (curve[low + 1] - curve[low]) * (place - low)


def _array(kind: str, raw: bytes, at: int, count: int) -> tuple[array[int], int]:
    made: array[int] = array(kind)
    end = at + made.itemsize * count
    made.frombytes(raw[at:end])
    return made, end


@cache
def shared() -> Classifier:
    return Classifier(DATA.read_bytes())
