"""`doctor diff A B`: what differs between two bundles, captures or JSON reports, or this machine (`this`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import Output, TextOrJson
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names

if TYPE_CHECKING:
    from doctor.compare import Changed


def add(app: typer.Typer) -> None:
    app.command("diff")(diff)


def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help="A bundle, capture or JSON report; `this` is this machine.")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    format_: TextOrJson = "text",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Show what differs between two machines, most important first.

    Exit 1 when something differs, 4 when nothing is known of both.
    """
    import json

    from doctor.cli.output import deliver
    from doctor.cli.waiting import waiting
    from doctor.compare import as_data, compare
    from doctor.engine.verdict import unread, unread_line
    from doctor.errors import ExitCode
    from doctor.findings import Layer
    from doctor.report.formats.json import as_data as data
    from doctor.report.formats.json import private
    from doctor.sides import report

    site = site_of(hide, domain, key)
    names = before, after
    with waiting("Reading both sides"):
        sides = private(report(before, site), site), private(report(after, site), site)
    changes = compare(*(data(side, unredacted=True) for side in sides))
    unread_layers = unread(sides[0].snapshot), unread(sides[1].snapshot)
    dark = {layer for side in unread_layers for layer, state in side.items() if state == "unknown"}
    if format_ == "json":
        by_side = [{layer.value: str(state) for layer, state in side.items()} for side in unread_layers]
        text = json.dumps(as_data(changes, names, (by_side[0], by_side[1])), indent=2) + "\n"
    else:
        gaps = [line for pair in zip(names, unread_layers, strict=True) if (line := unread_line(*pair))]
        text = _text(changes, names, gaps)
    deliver(without_names(text, site), output, prose=format_ == "text")
    if any(change.kind != "unread" for change in changes):
        return ExitCode.FINDINGS
    return ExitCode.UNJUDGED if dark == set(Layer) else ExitCode.OK


def _text(changes: tuple[Changed, ...], names: tuple[str, str], gaps: list[str]) -> str:
    """What nobody looked at comes first: no difference is shown there, and none is denied."""
    lines = [_printable(f"? {line}") for line in gaps]
    groups = [[c for c in changes if c.kind == kind] for kind in ("finding", "fact", "unread")]
    if any(groups):
        lines += [_printable(f"- {names[0]}"), _printable(f"+ {names[1]}")]
    for title, rows in zip(("findings", "facts"), groups, strict=False):
        if rows:
            lines += ["", f"{len(rows)} {title if len(rows) > 1 else title[:-1]} differ{'s' * (len(rows) == 1)}:"]
            lines += [f"  {_line(change)}" for change in rows]
    if not groups[0] and not groups[1]:
        whole = "no difference in findings and facts"
        lines.append(f"{whole}, of what both know" if gaps or groups[2] else whole)
    if one_sided := groups[2]:
        lines += ["", f"{len(one_sided)} known of one side only, which is no difference:"]
        lines += [f"  {line}" for line in _grouped(one_sided)]
    return "\n".join(lines) + "\n"


def _grouped(changes: list[Changed]) -> Iterator[str]:
    """A line for each finding, and one for all facts of one kind that are missing for one reason."""
    kinds: dict[tuple[bool, str, str | None], list[Changed]] = {}
    for change in changes:
        top = change.name if change.severity else change.name.split(".")[0].split("[")[0]
        kinds.setdefault((change.before is None, top, change.state), []).append(change)
    for (is_new, top, state), rows in kinds.items():
        if len(rows) == 1:
            yield _line(rows[0])
        else:
            yield _printable(f"{'+' if is_new else '-'} {top}: {len(rows)} facts (there: {state})")


def _line(change: Changed) -> str:
    sign = "+" if change.before is None else "-" if change.after is None else "~"
    if change.severity:
        shown = change.after or change.before
        was = (
            f" (was {change.before['severity']})"
            if sign == "~" and change.before["severity"] != shown["severity"]
            else ""
        )
        return _printable(f"{sign} {shown['severity']}{was}: {change.name}: {shown['summary']}{_why(change)}")
    sides = [_short(side) for side in (change.before, change.after) if side is not None]
    return _printable(f"{sign} {change.name}: {' -> '.join(sides)}{_why(change)}")


def _why(change: Changed) -> str:
    return f" (there: {change.state})" if change.state and change.state != "absent" else ""


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
