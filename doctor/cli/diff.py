"""`doctor diff A B`: what differs between two bundles, captures or JSON reports, or this machine (`-`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from doctor.compare import Changed


def add(app: typer.Typer) -> None:
    app.command("diff")(diff)


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Bundle, capture or JSON report; - is this machine.")],
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
    text = json.dumps(as_data(changes, (before, after)), indent=2) + "\n" if format_ == "json" else _text(changes)
    deliver(text, output)
    return ExitCode.FINDINGS if changes else ExitCode.OK


def _report(name: str) -> dict[str, Any]:
    """The report of one side, redacted, so that both sides name things alike."""
    from doctor.bundle.open import is_bundle, open_bundle, parsed
    from doctor.diagnosis.run import Options, examine
    from doctor.errors import InputError
    from doctor.report.json import as_data
    from doctor.system.base import System
    from doctor.system.capture import CaptureSystem
    from doctor.system.live import LiveSystem

    path = Path(name)
    if name != "-" and not path.exists():
        raise InputError(f"{name}: no such file or folder")
    if name != "-" and path.is_file() and not is_bundle(path):
        if path.stat().st_size > 64 << 20:
            raise InputError(f"{name}: too large")
        data = parsed(name, "report", path.read_bytes())
        return _checked(name, data)
    system: System = (
        LiveSystem() if name == "-" else open_bundle(path).system() if path.is_file() else CaptureSystem(path)
    )
    return as_data(examine(system, Options()))


def _checked(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """A JSON report of the published form. InputError otherwise."""
    from doctor.errors import InputError
    from doctor.findings import Report

    try:
        return Report.model_validate(data).model_dump(mode="json", by_alias=True)
    except ValueError as error:  # pydantic's is one
        fault = " ".join(str(error).split()[:20])
        raise InputError(f"{name}: not a doctor.report/1: {fault[:160]}") from None


def _text(changes: tuple[Changed, ...]) -> str:
    if not changes:
        return "no difference in findings and facts\n"
    return "".join(f"{_line(change)}\n" for change in changes)


def _line(change: Changed) -> str:
    sign = "+" if change.before is None else "-" if change.after is None else "~"
    if change.kind == "finding":
        told = change.after or change.before
        return _printable(f"{sign} {change.severity}: {change.name}: {told['summary']}")
    sides = [_short(side) for side in (change.before, change.after) if side is not None]
    return _printable(f"{sign} {change.name}: {' -> '.join(sides)}")


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
