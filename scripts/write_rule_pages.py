"""Writes docs/rules-catalogue.md from what every rule says of itself.

    python scripts/write_rule_pages.py

The same rules give the same page; tests/contracts/test_rule_pages.py says when it is out of date.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from doctor.diagnosis.registry import checks
from doctor.findings import Rule

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rules-catalogue.md"
_HEAD = """# Catalogue of rules

Made by `scripts/write_rule_pages.py` from the rules themselves; edit those. [rules.md](rules.md) says how one is made,
and `doctor explain ID` prints one of these entries.
"""
_AREAS = {
    "driver": "Kernel drivers",
    "access": "Access to the GPU",
    "python": "Python environment",
    "blas": "BLAS libraries",
    "flags": "Environment flags",
    "host": "Host",
    "consequences": "Consequences",
    "tools": "Vendors' tools",
    "profile": "Profile and knowledge",
}


def page() -> str:
    """The whole page, with a table of all rules before the entries."""
    found = sorted(_with_area(), key=lambda pair: (_place(pair[0]), pair[1].id))
    rows = [f"| [{r.id}](#{r.id}) | {r.severity.value} | {r.proven} | {r.title} |" for _, r in found]
    parts = [_HEAD, "| rule | severity | seen | what |\n|--|--|--|--|\n" + "\n".join(rows) + "\n"]
    for area, pairs in groupby(found, key=lambda pair: pair[0]):
        parts += [f"## {_AREAS.get(area, area)}\n", *(_entry(rule) for _, rule in pairs)]
    return "\n".join(parts)


def _with_area() -> list[tuple[str, Rule]]:
    """Each rule with the folder of doctor/rules/ that its check stands in."""
    return [(check.run.__module__.split(".")[2], check.rule) for check in checks()]


def _place(area: str) -> int:
    return list(_AREAS).index(area) if area in _AREAS else len(_AREAS)


def _entry(rule: Rule) -> str:
    lines = [
        f"### {rule.id}\n",
        f"{rule.title} Severity: {rule.severity.value}. Seen: {rule.proven}."
        + (f" Explains: {', '.join(rule.explains)}." if rule.explains else ""),
        "",
        rule.doc.strip().replace("## ", "#### "),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
