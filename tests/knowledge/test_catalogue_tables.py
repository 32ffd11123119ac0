"""Every table of the catalogue: its entries are valid, sourced and dated, and its file is what the registry says."""

from __future__ import annotations

import json
import re

from doctor.knowledge.catalogue import DATA, table
from doctor.knowledge.tables import TABLES, Table, named
from tests.each import each

_DATE = re.compile(r"20\d\d(-\d\d(-\d\d)?)?\Z")


@each("kind", TABLES)
def test_every_entry_is_valid_and_says_where_from_and_as_of_when(kind: Table) -> None:
    model = kind.entry_type()
    entries = [model.model_validate(row) for row in table(kind.name).values()]
    assert entries
    for entry in entries:
        assert entry.source.strip(), entry
        assert _DATE.match(entry.as_of), entry


@each("kind", TABLES)
def test_the_file_names_its_table_and_no_path_of_a_workplace(kind: Table) -> None:
    text = (DATA / f"{kind.name}.json").read_text("utf-8")
    assert json.loads(text)["schema"] == f"doctor.{kind.name}/1"
    assert "/work/" not in text
    assert "of this set" not in text


NO_TABLES = {"about"}
"""What the tables are about, which causes show the same signs, and the weights of words."""


def test_no_file_lies_there_that_no_table_names() -> None:
    found = {str(p.relative_to(DATA).with_suffix("")) for p in DATA.rglob("*.json")} - NO_TABLES
    assert found == {t.name for t in TABLES}


def test_the_flag_tables_hold_every_flag_that_the_index_names() -> None:
    for name, row in table("flags/names").items():
        for where in row["tables"]:
            assert any(flag["name"] == name for flag in table(f"flags/{where}").values()), name


def test_contradictions_say_what_each_source_says_and_what_is_gone_by() -> None:
    rows = table("conflicts")
    assert {"h200-bandwidth", "driver-580-end-of-life", "xid-63-severity"} <= set(rows)
    for row in rows.values():
        assert len({said["value"] for said in row["says"]}) >= 2, row
        assert row["kept"], row
        assert named(row.get("table", "conflicts")), row


def test_what_is_only_remembered_is_not_carried() -> None:
    for kind in TABLES:
        assert all("memory" not in row for row in table(kind.name).values()), kind.name
