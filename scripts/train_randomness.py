"""Make doctor/redaction/data/pairs.txt, by which redaction knows a random word: how rare each sign is after another in
what the field writes.

usage: train_randomness.py            (a minute; the words are those of all files that git tracks)

A row for the start of a word and for each letter and digit; in it a sign for each letter and digit, `!` for common ones
and further on in ASCII by a sixth of a bit. Planted secrets, bundles and hexadecimal numbers are left out.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections import Counter
from pathlib import Path

from doctor.redaction.randomness import FIRST, SHARE, SIGNS

ROOT = Path(__file__).parent.parent
_OUT = ROOT / "doctor/redaction/data/pairs.txt"
_WORD = re.compile(r"[A-Za-z0-9]{4,60}")
_HEX = re.compile(r"[0-9a-f]{7,}|[0-9A-F]{7,}|\d+")
_PLANTED = ("redaction/", "bundle/", "verify", "LICENSE", "lock", "pairs.txt")
_LONGEST = 200_000


def main() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words: set[str] = set()
    for name in tracked.split("\n"):
        path = ROOT / name
        if path.is_file() and (path.name == "words.txt" or not any(part in name for part in _PLANTED)):
            words.update(_WORD.findall(path.read_text("utf-8", "replace")[:_LONGEST]))
    pairs: Counter[tuple[str, str]] = Counter()
    for word in words:
        if not _HEX.fullmatch(word):
            pairs.update(zip(FIRST + word, word, strict=False))
    rows = []
    for before in FIRST + SIGNS:
        total = sum(pairs[before, sign] for sign in SIGNS) + len(SIGNS)
        rare = (-math.log2((pairs[before, sign] + 1) / total) for sign in SIGNS)
        rows.append("".join(chr(ord("!") + round(bits / SHARE)) for bits in rare))
    _OUT.write_text("\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
