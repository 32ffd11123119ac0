"""An installed release lies over the shipped tables where it is newer, ours alone to write, and unchanged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.knowledge import Knowledge, store
from doctor.knowledge.age import day_of, days_old


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(store, "folders", lambda: (tmp_path,))
    tmp_path.chmod(0o755)
    store.forget()
    yield tmp_path
    store.forget()


def put(place: Path, release: str, *, action: str = "RESET_GPU") -> Path:
    row = json.loads((store.DATA / "xids.json").read_text("utf-8"))["entries"]["79"] | {"action": action}
    data = json.dumps({"schema": "doctor.xids/1", "entries": {"79": row}}).encode()
    (place / release).mkdir(mode=0o755)
    (place / release / "xids.json").write_bytes(data)
    note = {"release": release, "as_of": "2027-01-01", "file": "k.json", "signer": "SHA256:x"}
    (place / store.NOTE).write_text(json.dumps(note | {"tables": {"xids": hashlib.sha256(data).hexdigest()}}))
    (place / store.NOTE).chmod(0o644)
    store.forget()
    return place / release / "xids.json"


def action() -> str | None:
    xid = Knowledge().xid(79)
    return xid.action if xid else None


def test_without_one_the_shipped_release_is_in_use(place: Path) -> None:
    assert store.in_use().folder is None
    assert action() == "RESTART_BM"


def test_a_newer_one_lies_over_the_tables_that_it_has(place: Path) -> None:
    put(place, "2027.1.1")
    assert (store.in_use().version, store.in_use().signer) == ("2027.1.1", "SHA256:x")
    assert action() == "RESET_GPU"
    assert Knowledge().cuda_floor("12.4")  # a table that it does not have


def test_one_that_is_not_newer_does_not_count(place: Path) -> None:
    put(place, "2020.1.1")
    assert store.in_use().folder is None


def test_a_table_that_was_changed_afterwards_is_not_used_and_said_so(place: Path) -> None:
    table = put(place, "2027.1.1")
    table.write_text(table.read_text().replace("RESET_GPU", "IGNORE"))
    assert action() == "RESTART_BM"
    assert store.changed_since == ["xids"]


def test_a_folder_that_others_can_write_does_not_count(place: Path) -> None:
    put(place, "2027.1.1")
    place.chmod(0o777)
    store.forget()
    assert store.in_use().folder is None


@pytest.mark.parametrize("note", ["", "[]", '{"release": 3}', '{"release": "2027.1.1", "tables": []}', "\x00"])
def test_a_note_that_is_no_note_does_not_count(place: Path, note: str) -> None:
    put(place, "2027.1.1")
    (place / store.NOTE).write_text(note)
    store.forget()
    assert store.in_use().folder is None


def test_a_day_is_never_older_than_the_text_says() -> None:
    today = day_of("2026-11-21")
    assert [days_old(text, today) for text in ("2026-11-20", "2026-10", "2026", "2025", "2027-01-01")] == [
        1,
        21,
        0,
        325,
        0,
    ]
