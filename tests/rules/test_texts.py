"""Texts and the cause they name, one table a rule in `texts/`: `first`, it is named first; `named`, it is named;
`not`, a text near to one that does, in which it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from doctor.engine import registry
from tests.each import each
from tests.knowledge.texts import raised

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLES = {
    path.stem: tomllib.loads(path.read_text("utf-8")) for path in (Path(__file__).parent / "texts").glob("*.toml")
}


def cases(kind: str) -> Iterator[tuple[str, str]]:
    for rule, table in sorted(TABLES.items()):
        yield from ((rule, row["text"]) for row in table.get(kind, ()))


def test_a_table_is_named_after_its_rule_and_holds_these_kinds_of_rows() -> None:
    assert set(TABLES) <= {check.rule.id for check in registry.checks()}
    assert {kind for table in TABLES.values() for kind in table} == {"first", "named", "not"}


@each("rule, text", cases("first"))
def test_it_is_named_first(rule: str, text: str) -> None:
    assert raised(text)[:1] == [rule]


@each("rule, text", cases("named"))
def test_it_is_named(rule: str, text: str) -> None:
    assert rule in raised(text)


@each("rule, text", cases("not"))
def test_it_is_not_named(rule: str, text: str) -> None:
    assert rule not in raised(text)
