"""`doctor diff A B`: what differs between two bundles, captures or JSON reports, or this machine (`this`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names

if TYPE_CHECKING:
    from doctor.compare import Changed
    from doctor.redaction.site import Site


def add(app: typer.Typer) -> None:
    app.command("diff")(diff)


def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help="A bundle, capture or JSON report; `this` is this machine.")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Show what differs between two machines, most important first.

    Exit 1 when something differs.
    """
    import json

    from doctor.cli.output import deliver
    from doctor.compare import as_data, compare
    from doctor.errors import ExitCode, InputError

    if format_ not in ("text", "json"):
        raise InputError(f"invalid --format {format_!r} (choose from text, json)")
    site = site_of(hide, domain, key)
    changes = compare(_report(before, site), _report(after, site))
    text = (
        json.dumps(as_data(changes, (before, after)), indent=2) + "\n"
        if format_ == "json"
        else _text(changes, (before, after))
    )
    deliver(without_names(text, site), output)
    return ExitCode.FINDINGS if changes else ExitCode.OK


def _report(name: str, site: Site | None) -> dict[str, Any]:
    from doctor.report.formats.json import as_data, private
    from doctor.sides import report

    return as_data(private(report(name, site), site), unredacted=True)


def _text(changes: tuple[Changed, ...], names: tuple[str, str]) -> str:
    if not changes:
        return "no difference in findings and facts\n"
    findings = [c for c in changes if c.kind == "finding"]
    facts = [c for c in changes if c.kind == "fact"]
    lines = [_printable(f"- {names[0]}"), _printable(f"+ {names[1]}")]
    for title, rows in (("findings", findings), ("facts", facts)):
        if rows:
            lines += ["", f"{len(rows)} {title if len(rows) > 1 else title[:-1]} differ{'s' * (len(rows) == 1)}:"]
            lines += [f"  {_line(change)}" for change in rows]
    return "\n".join(lines) + "\n"


def _line(change: Changed) -> str:
    sign = "+" if change.before is None else "-" if change.after is None else "~"
    if change.kind == "finding":
        told = change.after or change.before
        was = (
            f" (was {change.before['severity']})"
            if sign == "~" and change.before["severity"] != told["severity"]
            else ""
        )
        return _printable(f"{sign} {told['severity']}{was}: {change.name}: {told['summary']}")
    sides = [_short(side) for side in (change.before, change.after) if side is not None]
    why = f" (there: {change.state})" if change.state else ""
    return _printable(f"{sign} {change.name}: {' -> '.join(sides)}{why}")


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
