"""Make the table of words and causes (doctor/knowledge/data/wording.json) from scripts/wording_tickets.jsonl.

usage: weigh_words.py [FILE...]

FILE: more tickets in the same form, a line {"cause": RULE or "none", "text": TICKET} each.

The tickets were written for this, in the forms in which people report, after public threads and from experience; none
is a thread's text. A softmax regression by stochastic gradient over words and pairs that stand in two texts or more,
each text a vector of rarities of length 1; weights that matter little are left out. The same files give the same table,
which holds their digest. About 20 seconds.
"""

from __future__ import annotations

import collections
import datetime
import hashlib
import json
import math
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from doctor.knowledge.wording import DATA, words_of

TICKETS = Path(__file__).with_name("wording_tickets.jsonl")
EPOCHS = 24
STEP = 6.0
KEPT = 24_000
"""Weights kept, the largest: with 20,000 of 430,000 no text held back was named worse."""
_ADDRESS = re.compile(r"\.(?:com|org|io|net|dev)\b")
"""Addresses say where somebody fetched from, not what is wrong."""
Text = tuple[list[tuple[int, float]], int]


def texts(files: list[Path]) -> Iterator[tuple[set[str], str]]:
    """The words of each text, and its cause."""
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            ticket = json.loads(line)
            yield {word for part in ticket["text"].splitlines() for word in words_of(part)}, ticket["cause"]


def digest(files: list[Path]) -> str:
    """SHA-256 of the files' bytes, one after another."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def trained(rows: list[Text], words: int, causes: int) -> tuple[list[list[float]], list[float]]:
    """Weights (word by cause) and bases."""
    weights = [[0.0] * causes for _ in range(words)]
    base = [0.0] * causes
    order, shuffle = list(range(len(rows))), random.Random(1)  # noqa: S311 -- an order, no secret
    for epoch in range(EPOCHS):
        shuffle.shuffle(order)
        step = STEP / (1 + epoch * 0.35)
        for number in order:
            vector, truth = rows[number]
            _learn(weights, base, vector, truth, step)
    return weights, base


def _learn(
    weights: list[list[float]], base: list[float], vector: list[tuple[int, float]], truth: int, step: float
) -> None:
    scores = list(base)
    for word, value in vector:
        scores = [score + value * weight for score, weight in zip(scores, weights[word], strict=True)]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    for cause, power in enumerate(powers):
        wrong = power / total - (cause == truth)
        if abs(wrong) < 0.002:
            continue
        base[cause] -= step * 0.05 * wrong
        for word, value in vector:
            weights[word][cause] -= step * wrong * value


def table(files: list[Path]) -> dict[str, object]:
    """What wording.json holds."""
    found = list(texts(files))
    times = collections.Counter(word for words, _ in found for word in words)
    vocabulary = sorted(word for word, count in times.items() if count >= 2 and not _ADDRESS.search(word))
    number = {word: n for n, word in enumerate(vocabulary)}
    rarity = [math.log(len(found) / times[word]) for word in vocabulary]
    causes = sorted({cause for _, cause in found})
    rows: list[Text] = []
    for words, cause in found:
        there = sorted(number[word] for word in words if word in number)
        length = math.sqrt(sum(rarity[n] ** 2 for n in there)) or 1.0
        rows.append(([(n, rarity[n] / length) for n in there], causes.index(cause)))
    weights, base = trained(rows, len(vocabulary), len(causes))
    every = sorted((abs(weight) for row in weights for weight in row), reverse=True)
    least = every[min(KEPT, len(every) - 1)]
    packed = {}
    for n, word in enumerate(vocabulary):
        pairs = [(c, round(w, 2)) for c, w in enumerate(weights[n]) if abs(w) >= least]
        packed[word] = [round(rarity[n], 2), *(part for pair in pairs for part in pair)]
    return {
        "source": f"counted over {len(found)} short tickets with known causes, written for this after public threads "
        "and from experience (scripts/weigh_words.py)",
        "tickets": digest(files),
        "as_of": datetime.date.today().isoformat(),
        "causes": causes,
        "base": [round(b, 2) for b in base],
        "words": packed,
    }


def main() -> int:
    made = table([TICKETS, *map(Path, sys.argv[1:])])
    DATA.write_text(json.dumps(made, separators=(",", ":"), ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(f"{DATA}: {made['source']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
