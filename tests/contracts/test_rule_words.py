"""Texts of rules use words that people use: none of those that have no right use in a report about a machine."""

from __future__ import annotations

import re
from pathlib import Path

RULES = Path(__file__).resolve().parents[2] / "doctor" / "rules"
NO_RIGHT_USE = re.compile(r"\bmend|\bakin\b|\bhearsay\b|\banew\b|\bis\s+wanted\b|\bat\s+need\b", re.IGNORECASE)


def found(text: str) -> list[str]:
    return [match[0] for match in NO_RIGHT_USE.finditer(text)]


def test_no_rule_uses_a_word_that_has_no_right_use() -> None:
    paths = sorted(RULES.rglob("*.py"))
    assert len(paths) > 100
    assert {str(p.relative_to(RULES)): words for p in paths if (words := found(p.read_text("utf-8")))} == {}


def test_a_hit_over_a_line_break_and_near_misses() -> None:
    assert found("the release that is\nwanted; mends it") == ["is\nwanted", "mend"]
    assert found("a recommended release; the wanted one; what you need") == []
