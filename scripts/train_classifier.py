"""Make doctor/triage/data/classifier.bin, the text classifier of `doctor triage`, from the texts in scripts/data.

usage: train_classifier.py            (needs scikit-learn beside the project; about a minute)

Each line of a file is {"cause": RULE or "none", "text": TEXT}: tickets.jsonl in the forms in which people report,
people.jsonl in people's own words, with what is no report at all (pull requests, how-tos, questions, success).
A linear support vector machine for the cause, one against the rest, and a logistic regression for "is it a report";
both over words, their parts and pairs, each text a vector of rarities of length 1. The largest weights are kept, in
8 bits. Probabilities come from texts left out of the training (four folds), by isotonic regression. The same files
give the same model.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from doctor.triage.classifier import DATA, HEALTHY, features

TEXTS = Path(__file__).parent / "data"
SOFTNESS, REPORT_SOFTNESS = 2.0, 6.0
KEPT = 75_000
"""Weights of causes that are kept, of some 3 million."""
KNOTS = 21
FOLDS = 4
SHARPNESS = (1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8)


def texts() -> list[tuple[str, str]]:
    """Cause and text of each line of each file."""
    rows = [json.loads(line) for path in sorted(TEXTS.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    return [(row["cause"], row["text"]) for row in rows]


def matrix(found: list[set[int]]) -> tuple[Any, Any, Any]:
    """Rows of rarities of length 1, the hash of each column, its rarity."""
    counts: dict[int, int] = {}
    for one in found:
        for key in one:
            counts[key] = counts.get(key, 0) + 1
    keys = np.array(sorted(key for key, n in counts.items() if n > 1), dtype=np.uint32)
    place = {int(key): n for n, key in enumerate(keys)}
    rarity = np.log(len(found) / np.array([counts[int(key)] for key in keys])) + 1
    rarity = np.clip(np.round(rarity * 16), 1, 255) / 16  # as it is packed
    rows, columns = [], []
    for n, one in enumerate(found):
        here = sorted(place[key] for key in one if key in place)
        rows += [n] * len(here)
        columns += here
    values = csr_matrix((rarity[columns], (rows, columns)), shape=(len(found), len(keys)))
    length = np.sqrt(values.multiply(values).sum(axis=1)).A1
    return csr_matrix(values.multiply(1 / np.maximum(length, 1e-9)[:, None])), keys, rarity


def shares(scores: Any) -> Any:
    exp = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def curve(values: Any, right: Any) -> list[float]:
    """The probability at evenly spaced shares."""
    fitted = IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0).fit(values, right)
    return [round(float(x), 4) for x in fitted.predict(np.linspace(0, 1, KNOTS))]


def left_out(rows: Any, truth: Any, causes: Any) -> tuple[Any, Any]:
    """Scores of every cause and of "is a report" for each text, by models that did not see it."""
    scores = np.zeros((rows.shape[0], len(causes)))
    report = np.zeros(rows.shape[0])
    sick = causes[truth] != HEALTHY
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=1).split(rows, truth):
        scores[test] = (
            LinearSVC(C=SOFTNESS, class_weight="balanced", random_state=1)
            .fit(rows[train], truth[train])
            .decision_function(rows[test])
        )
        asked = LogisticRegression(C=REPORT_SOFTNESS, class_weight="balanced", max_iter=400)
        report[test] = asked.fit(rows[train], sick[train]).decision_function(rows[test])
    return scores, report


def pack(rows: Any, truth: Any, causes: Any, keys: Any, rarity: Any) -> tuple[bytes, dict[str, float]]:
    """The file's bytes, and what texts that were left out say of the model."""
    scores, report = left_out(rows, truth, causes)
    sharp = min(
        SHARPNESS, key=lambda s: -np.log(np.maximum(shares(scores * s)[np.arange(len(truth)), truth], 1e-12)).mean()
    )
    out = shares(scores * sharp)
    sick = causes[truth] != HEALTHY
    named = np.array([n for n, cause in enumerate(causes) if cause != HEALTHY])
    order = named[np.argsort(-out[:, named], axis=1)[:, :3]]
    right = order == truth[:, None]
    top = np.take_along_axis(out, order, axis=1)
    report_share = 1 / (1 + np.exp(-report))
    model = LinearSVC(C=SOFTNESS, class_weight="balanced", random_state=1).fit(rows, truth)
    asked = LogisticRegression(C=REPORT_SOFTNESS, class_weight="balanced", max_iter=400).fit(rows, sick)
    weights = model.coef_.T * sharp
    worth = np.abs(weights) * rarity[:, None]
    least = np.sort(worth, axis=None)[-KEPT]
    kept = worth >= least
    of_report = np.abs(asked.coef_[0]) * rarity
    here = np.flatnonzero(kept.any(axis=1) | (of_report >= np.sort(of_report)[-15_000]))
    scale, report_scale = np.abs(weights).max() / 127, np.abs(asked.coef_[0]).max() / 127
    sizes, of, packed = [], [], []
    for n in here:
        for cause in np.flatnonzero(kept[n]):
            of.append(int(cause))
            packed.append(round(weights[n, cause] / scale))
        sizes.append(np.count_nonzero(kept[n]))
    tables = [
        [round(float(x), 3) for x in model.intercept_ * sharp],
        curve(top.ravel(), right.ravel()),
        curve(report_share, sick),
    ]
    head = "|".join([",".join(causes), *(",".join(map(str, table)) for table in tables)])
    body = struct.pack("<IIfff", len(here), len(of), scale, report_scale, float(asked.intercept_[0]))
    body += np.diff(keys[here], prepend=0).astype("<u2").tobytes() + np.round(rarity[here] * 16).astype("u1").tobytes()
    body += np.round(asked.coef_[0][here] / report_scale).astype("i1").tobytes()
    body += np.array(sizes, "u1").tobytes() + np.array(of, "u1").tobytes() + np.array(packed, "i1").tobytes()
    measured = {
        "top 1": float(right[sick, 0].mean()),
        "top 3": float(right[sick].any(axis=1).mean()),
        "report": float(((report > 0) == sick).mean()),
    }
    return zlib.compress(head.encode() + b"\n" + body, 9), measured


def main() -> int:
    found = texts()
    causes, truth = np.unique([cause for cause, _ in found], return_inverse=True)
    rows, keys, rarity = matrix([features(text.splitlines()) for _, text in found])
    packed, measured = pack(rows, truth, causes, keys, rarity)
    DATA.write_bytes(packed)
    told = ", ".join(f"{name} {value:.3f}" for name, value in measured.items())
    sys.stdout.write(f"{DATA.name}: {len(packed) // 1024} KiB from {len(found)} texts; left out: {told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
