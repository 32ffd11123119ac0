"""Finds where sources contradict each other: what people noted (conflicts.toml), and what facts hold side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from knowledge_builders import Row, entry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NOTED = Path(__file__).with_name("conflicts.toml")
Load = Callable[[str], Row]


def conflicts(load: Load) -> dict[str, Row]:
    """Conflict entries by id."""
    found = [*_noted(), *_ends_of_life(load("nvidia/driver-branches.yaml")), *_xids(load("nvidia/xid.yaml"))]
    return {row["id"]: row for row in found}


def _noted() -> Iterator[Row]:
    for row in tomllib.loads(NOTED.read_text("utf-8"))["conflict"]:
        yield entry(row | {"source": [s["source"] for s in row["says"]]}, **{
            k: row[k] for k in ("id", "about", "table", "entry", "says", "kept") if k in row
        })  # fmt: skip


def _ends_of_life(facts: Row) -> Iterator[Row]:
    for branch in facts["branches"]:
        said, computed = branch.get("eol_nvidia"), branch.get("eol_endoflife")
        if said and computed and not str(computed).startswith(str(said)):
            yield entry(
                branch,
                id=f"driver-{branch['branch']}-end-of-life",
                about=f"When NVIDIA's driver branch {branch['branch']} ends",
                table="driver_branches",
                entry=branch["branch"],
                says=[
                    {"value": str(said), "source": "NVIDIA's table of driver branches"},
                    {"value": str(computed), "source": "endoflife.date, computed by rule"},
                ],
                kept=f"{said}: the vendor's word",
            )


def _xids(facts: Row) -> Iterator[Row]:
    """gpud calls fatal what the vendor's catalogue ignores, and the other way round."""
    for xid in facts["xids"]:
        vendor, gpud = xid.get("severity"), xid.get("gpud_severity")
        if xid.get("immediate_action") and {vendor, gpud} in (
            {"info", "fatal"},
            {"info", "critical"},
            {"error", "warning"},
            {"error", "info"},
        ):
            yield entry(
                xid,
                id=f"xid-{xid['xid']}-severity",
                about=f"How bad Xid {xid['xid']} is",
                table="xids",
                entry=str(xid["xid"]),
                says=[
                    {"value": str(vendor), "source": f"the vendor's action {xid.get('immediate_action')}"},
                    {"value": str(gpud), "source": "gpud"},
                ],
                kept=f"{vendor}: the vendor's action",
            )
