"""What `--format` takes, and who writes it. Nothing is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from doctor.findings import Report, Rule

MACHINE = ("json", "jsonl", "markdown", "sarif", "junit", "github", "prometheus", "html")
NEED_RULES = ("sarif",)


def render(name: str, report: Report, rules: Sequence[Rule] = (), *, unredacted: bool = False) -> str:
    """One of MACHINE. `rules` are wanted by NEED_RULES. `markdown` is always redacted: it is made to be pasted."""
    module = import_module(f"doctor.report.{name}")
    args: list[Any] = [report, rules] if name in NEED_RULES else [report]
    text: str = module.render(*args) if name == "markdown" else module.render(*args, unredacted=unredacted)
    return text
