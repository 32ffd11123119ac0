"""dnf5's history: a database in its own schema, as far as the reader looks into it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from doctor.errors import ParserError
from doctor.parsers.kernel import dnf5_history

SCHEMA = """
CREATE TABLE trans (id INTEGER PRIMARY KEY, dt_begin INTEGER NOT NULL, description TEXT);
CREATE TABLE pkg_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE rpm (item_id INTEGER, name_id INTEGER, epoch INTEGER, version TEXT, release TEXT);
CREATE TABLE trans_item (id INTEGER PRIMARY KEY, trans_id INTEGER, item_id INTEGER, action_id INTEGER);
"""
NOW = 1_795_000_000


def database(path: Path, rows: list[tuple[int, int, str, int, str, str]], journal: str = "delete") -> bytes:
    """Rows of (transaction, action, name, epoch, version, release); transaction N began N days before now."""
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"PRAGMA journal_mode = {journal}")
        made.executescript(SCHEMA)
        for number, (days, action, name, epoch, version, release) in enumerate(rows, 1):
            made.execute("INSERT OR IGNORE INTO trans VALUES (?, ?, 'dnf upgrade')", (days, NOW - days * 86400))
            made.execute("INSERT OR IGNORE INTO pkg_name (name) VALUES (?)", (name,))
            (named,) = made.execute("SELECT id FROM pkg_name WHERE name = ?", (name,)).fetchone()
            made.execute("INSERT INTO rpm VALUES (?, ?, ?, ?, ?)", (number, named, epoch, version, release))
            made.execute("INSERT INTO trans_item VALUES (?, ?, ?, ?)", (number, days, number, action))
        made.commit()
    return path.read_bytes()


ROWS = [
    (2, 6, "akmod-nvidia", 3, "570.124.06", "1.fc42"),
    (2, 2, "akmod-nvidia", 3, "570.133.20", "1.fc42"),
    (2, 2, "vim-common", 2, "9.1", "1.fc42"),
    (3, 1, "kernel-core", 0, "6.14.9", "300.fc42"),
    (1, 5, "rocm-hip", 0, "6.3.1", "4.fc42"),
]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_changes_of_the_gpu_stack_in_the_order_they_were_made(tmp_path: Path, journal: str) -> None:
    told = [tuple(row) for row in dnf5_history.changes(database(tmp_path / "h", ROWS, journal))]
    assert told == [
        ("2026-11-15T11:06:40+0000", "kernel-core", "install", None, "6.14.9-300.fc42"),
        ("2026-11-16T11:06:40+0000", "akmod-nvidia", "upgrade", "3:570.124.06-1.fc42", "3:570.133.20-1.fc42"),
        ("2026-11-17T11:06:40+0000", "rocm-hip", "remove", "6.3.1-4.fc42", None),
    ]


def test_what_is_older_than_asked_for_is_left_out(tmp_path: Path) -> None:
    told = dnf5_history.changes(database(tmp_path / "h", ROWS), NOW - 2.5 * 86400)
    assert [row.package for row in told] == ["akmod-nvidia", "rocm-hip"]


def test_before_python_3_11_the_copy_is_a_file_that_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("builtins.hasattr", lambda *_: False)
    assert len(dnf5_history.changes(database(tmp_path / "h", ROWS, "wal"))) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("doctor-")] == []


def test_other_bytes_another_schema_and_a_cut_file(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other")) as made:
        made.execute("CREATE TABLE trans (id INTEGER)")
        made.commit()
    whole = database(tmp_path / "h", ROWS)
    for content in (b"", b"SQLite format 3\x00", (tmp_path / "other").read_bytes(), whole[:5000], b"x" * 100):
        with pytest.raises(ParserError):
            dnf5_history.changes(content)


def test_values_of_other_kinds_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "h"
    database(path, ROWS)
    with closing(sqlite3.connect(path)) as made:
        made.execute("UPDATE pkg_name SET name = 'nvidia' || char(27) || '[31m' WHERE name = 'rocm-hip'")
        made.execute("UPDATE trans SET dt_begin = 'soon' WHERE id = 2")
        made.commit()
    told = dnf5_history.changes(path.read_bytes())
    assert {row.action for row in told} == {"install", "remove"}
    assert all(row.package.isprintable() for row in told)
