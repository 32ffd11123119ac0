"""The pages that the site's hook makes hold every rule, and lead to pages that there are."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from doctor.cli.explain import _commands
from doctor.engine.registry import checks, rules

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_prints_commands() -> None:
    assert [check.rule.id for check in checks() if "## Commands" not in _commands(check, 100)] == []


def test_every_rule_has_an_entry_and_a_page_and_every_link_leads_somewhere() -> None:
    pages: dict[str, str] = runpy.run_path(str(ROOT / "scripts" / "generated_pages.py"))["pages"]()
    catalogue = pages["rules-catalogue.md"].splitlines()
    assert [r.id for r in rules() if f"### {r.id}" not in catalogue or f"rule/{r.id}.md" not in pages] == []
    there = {*pages, *(f"{path.name}" for path in (ROOT / "docs").glob("*.md"))}
    links = {
        link for page in ("rules-catalogue.md", "stack.md") for link in re.findall(r"\]\(([\w./-]+\.md)", pages[page])
    }
    assert links
    assert links <= there
