"""Make the table of words and causes (doctor/knowledge/data/wording.json) from scripts/wording_tickets.jsonl.

usage: weigh_words.py [FILE...]

FILE: more tickets in the same form, a line {"cause": RULE or "none", "text": TICKET} each.

Needs scikit-learn beside the project. The tickets were written for this, in the forms in which people report, after
public threads and from experience; none is a thread's text. A linear support vector machine, one cause against the
rest, over words, their parts and pairs, and the error texts of today's catalogue that a ticket holds, each ticket a
vector of rarities of length 1; weights that matter little are left out. The sharpness that turns scores into shares is
the one that tickets left out of the training speak for. The same files and catalogue give the same table, which holds
the files' digest. About half a minute.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doctor.intake import read_text
from doctor.knowledge.wording import DATA, symptom_word, words_of

TICKETS = Path(__file__).with_name("wording_tickets.jsonl")
SOFTNESS = 2
"""`C` of the support vector machine: of 594 condensed public threads that no ticket had seen 487 were named with 2, 476
with 0.5, 484 with 4 and with 8."""
KEPT = 100_000
"""Weights kept, the largest: of 4,300,000, as many texts of public threads are named as with all; with 50,000 two in a
hundred fewer."""
_SHARPNESS = (1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8)
_ADDRESS = re.compile(r"\.(?:com|org|io|net|dev)\b")
"""Addresses say where somebody fetched from, not what is wrong."""


def texts(files: list[Path]) -> Iterator[tuple[set[str], str]]:
    """The words and the known error texts of each ticket, and its cause."""
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            ticket = json.loads(line)
            words = {word for part in ticket["text"].splitlines() for word in words_of(part)}
            known = {symptom_word(symptom.key) for symptom in read_text([ticket["text"].encode()]).symptoms}
            yield words | known, ticket["cause"]


def digest(files: list[Path]) -> str:
    """SHA-256 of the files' bytes, one after another."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def sharpness(scores: Any, truth: Any) -> float:
    """What scores are multiplied with before the shares are taken: where the true causes have the largest shares."""
    import numpy as np

    def surprise(factor: float) -> float:
        sharp = scores * factor
        shares = sharp - np.log(np.exp(sharp).sum(axis=1, keepdims=True))
        return float(-shares[np.arange(len(truth)), truth].mean())

    return min(_SHARPNESS, key=surprise)


def table(files: list[Path]) -> dict[str, object]:
    """What wording.json holds."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import cross_val_predict
    from sklearn.svm import LinearSVC

    found = list(texts(files))
    counted = TfidfVectorizer(analyzer=lambda words: (w for w in words if not _ADDRESS.search(w)), smooth_idf=False)
    rows = counted.fit_transform(words for words, _ in found)
    causes, truth = np.unique([cause for _, cause in found], return_inverse=True)
    model = LinearSVC(C=SOFTNESS, class_weight="balanced", random_state=1)
    factor = sharpness(cross_val_predict(model, rows, truth, cv=4, method="decision_function"), truth)
    model.fit(rows, truth)
    weights = model.coef_.T * factor
    told = np.abs(weights) * counted.idf_[:, None]
    least = np.sort(told, axis=None)[-KEPT] if told.size > KEPT else 0.0
    packed = {}
    for word, n in sorted(counted.vocabulary_.items()):
        kept = np.flatnonzero(told[n] >= least)
        if len(kept):
            pairs = ((int(cause), round(float(weights[n, cause]), 2)) for cause in kept)
            packed[word] = [round(float(counted.idf_[n]), 2), *(part for pair in pairs for part in pair)]
    return {
        "source": f"counted over {len(found)} short tickets with known causes, written for this after public threads "
        "and from experience (scripts/weigh_words.py)",
        "tickets": digest(files),
        "as_of": datetime.date.today().isoformat(),
        "causes": causes.tolist(),
        "base": [round(float(base), 2) for base in model.intercept_ * factor],
        "words": packed,
    }


def main() -> int:
    made = table([TICKETS, *map(Path, sys.argv[1:])])
    DATA.write_text(json.dumps(made, separators=(",", ":"), ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(f"{DATA}: {made['source']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
