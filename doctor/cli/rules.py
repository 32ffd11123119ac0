"""`doctor rules`: what can be found."""

from __future__ import annotations

import typer

from doctor.cli.choices import TextOrJson


def add(app: typer.Typer) -> None:
    app.command("rules")(rules)


def rules(format_: TextOrJson = "text") -> None:
    """List every rule with its severity and what it was tested on."""
    import json

    from doctor.cli.output import deliver
    from doctor.engine.registry import checks

    found = [c.rule for c in checks()]
    if format_ == "json":
        rows = [
            {"id": r.id, "severity": r.severity.value, "proven": r.proven, "title": r.title, "tags": list(r.tags)}
            for r in found
        ]
        deliver(json.dumps(rows, indent=2) + "\n", None)
        return
    width = max((len(r.id) for r in found), default=0)
    lines = (f"{r.severity.value:<8} {r.proven:<10} {r.id:<{width}}  {r.title}\n" for r in found)
    deliver("".join(lines), None)
