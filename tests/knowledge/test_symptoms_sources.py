"""Each text was found at its source, or docs/knowledge.md says why it was not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import doctor
from doctor.knowledge.symptoms import shared

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(doctor.__file__).parent / "knowledge" / "data" / "symptoms"
FILES = tuple(sorted(path.stem for path in DATA.glob("*.toml")))
DOCS = Path(__file__).parents[2] / "docs" / "knowledge.md"


def unconfirmed(file: str) -> set[str]:
    rows = tomllib.loads((DATA / f"{file}.toml").read_text())["symptom"]
    return {row["id"] for row in rows if not row.get("confirmed")}


@pytest.mark.parametrize("file", FILES)
def test_what_was_not_found_at_its_source_is_listed_with_its_reason(file: str) -> None:
    listed = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", DOCS.read_text()))
    assert {key for key in unconfirmed(file) if not key.startswith("helped-by-")} <= listed


def test_what_is_listed_is_in_the_catalogue_and_unconfirmed() -> None:
    listed = re.findall(r"^- ([a-z0-9-]+)$", DOCS.read_text().partition("## Texts of symptoms")[2], re.MULTILINE)
    assert listed
    assert len(listed) == len({*listed})
    assert {*listed} <= shared().signatures.keys()
    assert {*listed} <= set.union(*(unconfirmed(file) for file in FILES))
