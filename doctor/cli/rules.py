"""`doctor rules`: what can be found."""

from __future__ import annotations

import typer

from doctor.cli.choices import TextOrJson


def add(app: typer.Typer) -> None:
    app.command("rules")(rules)


def rules(format_: TextOrJson = "text") -> None:
    """List every rule with its severity and what it was tested on."""
    import json

    from doctor.cli.output import deliver, print_prose
    from doctor.engine.registry import checks
    from doctor.report.words import TESTED

    found = [c.rule for c in checks()]
    if format_ == "json":
        rows = [
            {"id": r.id, "severity": r.severity.value, "proven": r.proven, "title": r.title, "tags": list(r.tags)}
            for r in found
        ]
        deliver(json.dumps(rows, indent=2) + "\n", None)
        return
    table = [("severity", "tested on", "rule", "title")]
    table += [(r.severity.value, TESTED[r.proven].removeprefix("on "), r.id, r.title) for r in found]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in table)
    print_prose("".join(lines))
