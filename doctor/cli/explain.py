"""`doctor explain ID`: the documentation of one rule."""

from __future__ import annotations

from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    app.command("explain")(explain)


def explain(rule: Annotated[str, typer.Argument(help="A rule's id, as `doctor rules` lists them.")]) -> None:
    """Say what a rule finds, why it matters, and how to mend it."""
    import difflib
    import shutil

    from doctor.cli.output import deliver
    from doctor.diagnosis.registry import checks
    from doctor.errors import InputError
    from doctor.report.prose import fill

    rules = {c.rule.id: c.rule for c in checks()}
    if rule not in rules:
        near = difflib.get_close_matches(rule, rules, 1, 0.4)
        hint = f"did you mean {near[0]}?" if near else "`doctor rules` lists them"
        raise InputError(f"no rule {rule!r}; {hint}")
    found = rules[rule]
    page = f"# {found.id}\n\n{found.title} ({found.severity.value}, proven {found.proven})\n\n{found.doc.strip()}"
    deliver(fill(page, min(shutil.get_terminal_size((100, 24)).columns, 100)) + "\n", None)
