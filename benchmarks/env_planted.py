"""Mistakes planted into files: how many `doctor env` names.

    python -m benchmarks.env_planted

Reads benchmarks/env_planted.yaml. Prints a line for each that is not named, and the share by part and class.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from doctor.cli.env import _described
from doctor.facts.snapshot import Snapshot
from doctor.flags.files import look

PLANTED = Path(__file__).with_name("env_planted.yaml")


def is_named(row: dict[str, Any]) -> bool:
    said = row.get("for", {})
    machine = _described(Snapshot(), said.get("gpu"), said.get("rocm"), said.get("torch"))
    told = {word: True for word in said.get("context", "").split(",") if word}
    findings = look(row["file"], row["text"], None, machine, told).findings
    about = (f for f in findings if any(row["name"] in e.text for e in f.evidence) or f.subject.id == row["name"])
    return any(
        re.search(row["says"], " ".join([f.summary, *(e.text for e in f.evidence), *(x.title for x in f.remedies)]))
        for f in about
    )


def main() -> int:
    rows = yaml.safe_load(PLANTED.read_text("utf-8"))
    named: Counter[tuple[str, str]] = Counter()
    planted: Counter[tuple[str, str]] = Counter()
    for row in rows:
        good = is_named(row)
        for key in ((row["part"], row["class"]), (row["part"], "all"), ("both", "all")):
            planted[key] += 1
            named[key] += good
        if not good:
            text = row["text"].strip().replace("\n", "; ")
            sys.stdout.write(f"not named: {row['part']} {row['class']} {row['name']}: {text}\n")
    for key, count in sorted(planted.items()):
        sys.stdout.write(f"{' '.join(key)}: {named[key]} of {count}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
