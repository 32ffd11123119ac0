"""Tables of flags that are made by hand: when interactions hold, and what the flags' own tables have wrong."""

from __future__ import annotations

import sys
from pathlib import Path

from knowledge_builders import Row, entry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEPT = ("open", "elsewhere", "dropped", "severity", "problem", "fix", "audit", "shown")


def conditions() -> dict[str, Row]:
    """flag_conditions.toml: one entry an interaction, without the examples that its test reads."""
    from doctor.flags.conditions import triggers

    said = {"source": "the interaction of that id", "as_of": "2026-11-21"}
    return {
        name: entry(
            said,
            id=name,
            lines=row.get("if"),
            triggers=list(triggers(row.get("if", ()))),
            **{k: row.get(k) for k in _KEPT},
        )
        for name, row in _toml("flag_conditions.toml").items()
    }


def corrected(table: str, rows: dict[str, Row]) -> dict[str, Row]:
    """The rows with what flag_corrections.toml says of them. Raises KeyError for a correction of no row."""
    for change in _toml("flag_corrections.toml")["flag"]:
        if change["table"] == table:
            row = rows[change["row"]]
            rows[change["row"]] = row | change["is"] | {"source": "; ".join(change["shown"])}
    return rows


def _toml(name: str) -> Row:
    with Path(__file__).with_name(name).open("rb") as file:
        return tomllib.load(file)
