"""`doctor knowledge`: what the doctor knows, from where, as of when; and a newer release of it, installed by hand."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import TextOrJson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doctor.knowledge.tables import Table

Named = Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="Tables; default: all.")]


def add(app: typer.Typer) -> None:
    group = typer.Typer(help="Inspect and update the knowledge base.", no_args_is_help=True, rich_markup_mode=None)
    for command in (show, sources, conflicts, age, validate, install, remove):
        group.command(command.__name__)(command)
    app.add_typer(group, name="knowledge")


def show(
    name: Annotated[str | None, typer.Argument(metavar="TABLE", help="A table; default: list all.")] = None,
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="An entry's key, or a part of it.")] = None,
    format_: TextOrJson = "text",
) -> None:
    """List the tables, a table's entries, or an entry with its source."""
    from doctor.errors import InputError
    from doctor.knowledge.store import table
    from doctor.knowledge.tables import TABLES

    if name is None:
        rows = [{"table": t.name, "area": t.area, "entries": len(table(t.name)), "title": t.title} for t in TABLES]
        _print(rows, format_, (f"{r['table']:<28} {r['entries']:>5}  {r['title']}" for r in rows), about=True)
        return
    kind = _tables([name])[0]
    entries = table(kind.name)
    found = {k: v for k, v in entries.items() if key is None or key.lower() in k.lower()}
    if key is not None and key in entries:
        found = {key: entries[key]}
    if not found:
        raise InputError(f"{name}: no entry {key}; doctor knowledge show {name} lists them")
    against = [
        c
        for c in table("conflicts").values()
        if c.get("table") == kind.name and (c.get("entry") is None or c["entry"] in found)
    ]
    _print({"entries": found, "conflicts": against}, format_, _shown(found, against))


def sources(tables: Named = None, format_: TextOrJson = "text") -> None:
    """List the sources, with the number of entries from each."""
    from collections import Counter

    from doctor.knowledge.store import table

    count: Counter[str] = Counter()
    for kind in _tables(tables):
        for row in table(kind.name).values():
            count.update(s.strip() for s in str(row["source"]).split("; ") if s.strip())
    rows = [
        {"source": source, "entries": number}
        for source, number in sorted(count.items(), key=lambda one: (-one[1], one[0]))
    ]
    _print(rows, format_, (f"{r['entries']:>5}  {r['source']}" for r in rows))


def conflicts(format_: TextOrJson = "text") -> None:
    """List where sources contradict each other, and which one is used."""
    from doctor.knowledge.store import table

    rows = list(table("conflicts").values())
    _print(rows, format_, (line for row in rows for line in _conflict(row)))


def age(
    tables: Named = None,
    max_days: Annotated[int | None, typer.Option(help="Entries older than this are counted as old.", min=0)] = None,
    format_: TextOrJson = "text",
) -> int:
    """Show how old each table's entries are.

    Exit 1 when some are older than --max-days."""
    from doctor.errors import ExitCode
    from doctor.knowledge.age import LIMIT_DAYS, days_old
    from doctor.knowledge.store import table

    today, limit = datetime.date.today(), LIMIT_DAYS if max_days is None else max_days
    rows = []
    for kind in _tables(tables):
        days = {key: days_old(row["as_of"], today) for key, row in table(kind.name).items()}
        old = sorted(key for key, value in days.items() if value > limit)
        newest, oldest = min(days.values()), max(days.values())
        row = {"table": kind.name, "entries": len(days), "newest_days": newest, "oldest_days": oldest}
        rows.append({**row, "old": len(old), "old_entries": old})
    head = f"{'table (ages in days)':<28} {'entries':>7} {'newest':>7} {'oldest':>7} {f'older than {limit} days':>22}"
    lines = (
        f"{r['table']:<28} {r['entries']:>7} {r['newest_days']:>7} {r['oldest_days']:>7} {r['old']:>22}" for r in rows
    )
    _print(rows, format_, (line for part in ([head], lines) for line in part), about=True)
    return ExitCode.FINDINGS if max_days is not None and any(r["old"] for r in rows) else ExitCode.OK


def validate(
    tables: Named = None,
    file: Annotated[Path | None, typer.Option(help="A signed knowledge file instead of the tables in use.")] = None,
    signature: Annotated[Path | None, typer.Option(help="Its signature; else FILE.sig.")] = None,
    signers: Annotated[Path | None, typer.Option(help="Allowed signers; else those of this program.")] = None,
) -> None:
    """Check every entry and error text, or a knowledge file."""
    import doctor
    from doctor.cli.output import print_prose
    from doctor.engine import registry
    from doctor.errors import DataFileError
    from doctor.knowledge import store
    from doctor.knowledge_update import check, faults_of
    from doctor.system.live import LiveSystem
    from doctor.triage.templates.catalogue import shared
    from doctor.triage.templates.check import all_faults

    if file is not None:
        checked = check(LiveSystem(), file, signature, signers)
        count = sum(map(len, checked.tables.values()))
        print_prose(f"{file}: release {checked.release}, {count} entries valid, signed by {checked.signer}\n")
        return
    kinds = _tables(tables)
    faults = [fault for kind in kinds for fault in faults_of(kind, store.table(kind.name))]
    faults += [f"{name}: changed since it was installed; the shipped table is used" for name in store.changed_since]
    if faults:
        raise DataFileError(str(store.in_use().folder or store.DATA), faults)
    line = f"{sum(len(store.table(k.name)) for k in kinds)} entries of {len(kinds)} tables"
    if not tables:
        package = Path(doctor.__file__).parent
        if faults := all_faults({check.rule.id for check in registry.checks()}, package):
            raise DataFileError(str(package / "triage/templates/data"), faults)
        line += f" and {len(shared().templates)} error texts"
    print_prose(f"{line} are valid\n")


def install(
    file: Annotated[Path, typer.Argument(help="A knowledge file; its signature lies beside it as FILE.sig.")],
    signature: Annotated[Path | None, typer.Option(help="Where the signature lies, if not beside the file.")] = None,
    signers: Annotated[Path | None, typer.Option(help="Your own allowed signers, as ssh-keygen(1) has them.")] = None,
) -> None:
    """Install a newer, signed release of the knowledge base."""
    from doctor.cli.output import print_prose
    from doctor.knowledge_update import install as put
    from doctor.system.live import LiveSystem

    release = put(LiveSystem(), file, signature, signers)
    who = f"as of {release.as_of}, signed by {release.signer}"
    print_prose(f"release {release.version} ({who}) is in use: {release.folder}\n")


def remove() -> None:
    """Remove installed releases and use the shipped knowledge again."""
    from doctor.cli.output import print_prose
    from doctor.knowledge_update import remove as take

    gone = take()
    line = f"removed: {', '.join(gone)}" if gone else "nothing is installed that this account may remove"
    print_prose(f"{line}\n")


def _tables(names: list[str] | None) -> list[Table]:
    from difflib import get_close_matches

    from doctor.errors import InputError
    from doctor.knowledge.tables import TABLES, named

    for name in names or ():
        if named(name) is None:
            near = get_close_matches(name, [t.name for t in TABLES], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"{name}: no such table{hint} (`doctor knowledge show` lists them)")
    return [t for t in TABLES if not names or t.name in names]


def _print(data: Any, format_: str, lines: Iterator[str], *, about: bool = False) -> None:
    import json

    from doctor.cli.output import deliver, print_prose
    from doctor.knowledge import store

    if format_ == "json":
        deliver(json.dumps(data, indent=2) + "\n", None)
        return
    release = store.in_use()
    head = f"knowledge {release.version}, as of {release.as_of}"
    head += f", installed from {release.file}, signed by {release.signer}" if release.folder else ", shipped"
    print_prose("\n".join([head] * about + list(lines)) + "\n")


def _shown(found: dict[str, Any], against: list[dict[str, Any]]) -> Iterator[str]:
    if len(found) > 1:
        yield from (f"{key}  ({row['as_of']})" for key, row in found.items())
    else:
        for key, row in found.items():
            yield key
            rest = {k: v for k, v in row.items() if k not in ("source", "as_of")}
            yield from (f"  {name}: {_value(value)}" for name, value in rest.items())
            yield f"  as of: {row['as_of']}"
            yield from (f"  source: {source}" for source in str(row["source"]).split("; "))
    if against:
        yield "sources contradict each other:"
        yield from (f"  {line}" for row in against for line in _conflict(row))


def _value(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _conflict(row: dict[str, Any]) -> Iterator[str]:
    yield f"{row['about']}: kept {row['kept']}"
    yield from (f"    {one['value']} [{one['source']}]" for one in row["says"])
