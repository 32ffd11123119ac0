"""A hook of mkdocs: one page for each rule, made from the rule while the site is built, so that none is stale."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from doctor.diagnosis.registry import checks
from doctor.findings import Rule


def on_files(files: Files, config: Any) -> Files:
    """Adds `rule/ID.md` for each rule. They stand under the catalogue, not in the menu."""
    for check in checks():
        name = f"rule/{check.rule.id}.md"
        files.append(File.generated(config, name, content=page(check.rule)))
    return files


def page(rule: Rule) -> str:
    about = f"{rule.title} Severity: {rule.severity.value}. Seen: {rule.proven}."
    explains = f"\n\nExplains: {', '.join(f'[{r}]({r}.md)' for r in rule.explains)}." if rule.explains else ""
    back = f"[All rules](../rules-catalogue.md#{rule.id}). `doctor explain {rule.id}` prints this page."
    return f"# {rule.id}\n\n{about}{explains}\n\n{rule.doc.strip()}\n\n{back}\n"
