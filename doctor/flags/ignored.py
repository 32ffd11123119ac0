"""`# doctor: ignore RULE reason` in a file: the finding of that rule on the same line, or on the next, is left out.

RULE is a rule, or what a finding names behind it (`secrets-in-env`). Without a reason it does not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from doctor.findings import Finding
from doctor.flags.places import ids, line

_MARK = re.compile(r"(?:#|//|\{#-?)\s{0,4}doctor: ignore(?:\s+([a-z0-9_-]{2,80}))?[ \t]*([^\n]{0,400})")


class Ruled(NamedTuple):
    kept: tuple[Finding, ...]
    notes: tuple[str, ...]


def marked(lines: Sequence[str], source: str) -> tuple[dict[int, set[str]], list[str]]:
    """Line → rules that a comment on it or above it sets aside; and what is wrong with such comments."""
    marks: dict[int, set[str]] = {}
    notes: list[str] = []
    for number, text in enumerate(lines, 1):
        found = _MARK.search(text) if "doctor: ignore" in text else None
        if found and found[1] and found[2].strip(" #}-"):
            alone = not text[: found.start()].strip()
            marks.setdefault(number + alone, set()).add(found[1])
        elif found:
            notes.append(f"{source}:{number}: no rule or no reason behind `doctor: ignore`: it does not count")
    return marks, notes


def judge(findings: Sequence[Finding], lines: Sequence[str], source: str) -> Ruled:
    """The findings without those that the file's own comments set aside, and how many those were."""
    marks, notes = marked(lines, source)
    kept = tuple(f for f in findings if not {f.rule, *ids(f)} & marks.get(line(f), set())) if marks else tuple(findings)
    gone = len(findings) - len(kept)
    return Ruled(kept, (*notes, f"{gone} set aside by comments in the file") if gone else tuple(notes))
