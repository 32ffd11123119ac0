"""`doctor diff A B`: what differs between two bundles, captures or JSON reports, or this machine (`this`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from doctor.compare import Changed


def add(app: typer.Typer) -> None:
    app.command("diff")(diff)


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Bundle, capture or JSON report; `this` is this machine.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
) -> int:
    """What differs in findings and facts, what matters first. Exit 1 when something does."""
    import json

    from doctor.cli.output import deliver
    from doctor.compare import as_data, compare
    from doctor.errors import ExitCode, InputError

    if format_ not in ("text", "json"):
        raise InputError(f"--format {format_}: one of text, json is wanted")
    changes = compare(_report(before), _report(after))
    text = (
        json.dumps(as_data(changes, (before, after)), indent=2) + "\n"
        if format_ == "json"
        else _text(changes, (before, after))
    )
    deliver(text, output)
    return ExitCode.FINDINGS if changes else ExitCode.OK


_THIS = ("this", "-", ".")
"""Words for this machine. A file or folder that is called so is named with its folder: `./this`."""


def _report(name: str) -> dict[str, Any]:
    """The report of one side, under the pseudonyms that a bundle of this machine has, so that redaction makes no
    difference of its own. A bundle is redacted already."""
    from doctor.bundle.open import is_bundle, open_bundle, parsed
    from doctor.bundle.record import private_report
    from doctor.diagnosis.run import Options, examine
    from doctor.errors import InputError
    from doctor.report.json import as_data
    from doctor.system.capture import CaptureSystem
    from doctor.system.given import read_given_bytes
    from doctor.system.live import LiveSystem

    if name in _THIS:
        return as_data(private_report(LiveSystem(), Options()), unredacted=True)
    path = Path(name)
    if not path.exists():
        raise InputError(f"{name}: no such file or folder; `this` is this machine")
    if path.is_dir():
        return as_data(private_report(CaptureSystem(path), Options()), unredacted=True)
    if is_bundle(path):
        return as_data(examine(open_bundle(path).system(), Options()), unredacted=True)
    return _checked(name, parsed(name, "report", read_given_bytes(path, 64 << 20)))


def _checked(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """A JSON report of the published form. InputError otherwise."""
    from doctor.errors import InputError
    from doctor.findings import Report

    try:
        return Report.model_validate(data).model_dump(mode="json", by_alias=True)
    except ValueError as error:  # pydantic's is one
        fault = " ".join(str(error).split()[:20])
        raise InputError(f"{name}: not a doctor.report/1: {fault[:160]}") from None


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
