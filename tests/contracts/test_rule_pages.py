"""The generated catalogue of rules is what the rules say now."""

from __future__ import annotations

import runpy
from pathlib import Path

from doctor.diagnosis.registry import checks

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_current() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "write_rule_pages.py"))["page"]()
    held = (ROOT / "docs" / "rules-catalogue.md").read_text(encoding="utf-8")
    assert held == made, "run: python scripts/write_rule_pages.py"


def test_every_rule_has_an_entry() -> None:
    held = (ROOT / "docs" / "rules-catalogue.md").read_text(encoding="utf-8").splitlines()
    assert [c.rule.id for c in checks() if f"### {c.rule.id}" not in held] == []
