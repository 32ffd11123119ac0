"""Bytes of dnf5's transaction_history.sqlite -> changes of packages of the GPU stack, as the logs of others tell them.

dnf5 keeps its history in this database alone (github.com/rpm-software-management/dnf5, transaction/db/sql). The bytes
are opened as a copy in memory, or in a file of ours before Python 3.11: the machine's own database is not touched.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.errors import ParserError
from doctor.parsers.kernel.package_log import GPU_STACK, Changed
from doctor.parsers.lib.printable import clean

if TYPE_CHECKING:
    import sqlite3

MAX_BYTES = 64 << 20
_MAGIC = b"SQLite format 3\x00"
_STEPS = 20_000_000
"""Instructions of SQLite's machine: a second or so; a history of years takes a hundredth."""
_ROWS = 50_000
_ACTIONS = {1: "install", 2: "upgrade", 3: "downgrade", 5: "remove", 6: "replaced"}
_QUERY = """
    SELECT trans.dt_begin, pkg_name.name, rpm.epoch, rpm.version, rpm.release, trans_item.action_id, trans.id
    FROM trans_item
    JOIN trans ON trans.id = trans_item.trans_id
    JOIN rpm ON rpm.item_id = trans_item.item_id
    JOIN pkg_name ON pkg_name.id = rpm.name_id
    WHERE trans.dt_begin >= ? AND trans_item.action_id IN (1, 2, 3, 5, 6)
    ORDER BY trans.dt_begin, trans_item.id LIMIT ?
"""


def changes(content: bytes, since_epoch_s: float = 0.0) -> list[Changed]:
    """Of transactions that began at `since_epoch_s` or later, in order; times are UTC. Raises ParserError for bytes
    that are no such database, or one that is broken."""
    import sqlite3

    if len(content) > MAX_BYTES or not content.startswith(_MAGIC):
        raise ParserError("not a SQLite database")
    try:
        with _opened(_plain(content)) as database:
            rows = database.execute(_QUERY, (since_epoch_s, _ROWS)).fetchall()
    except (sqlite3.Error, OverflowError, ValueError, MemoryError) as error:
        raise ParserError(f"no history of dnf5: {str(error)[:80]}") from None
    return list(_paired(rows))


def _plain(content: bytes) -> bytes:
    """A database of write-ahead journalling asks for files beside it; a copy is read as it is."""
    return content[:18] + b"\x01\x01" + content[20:]


@contextmanager
def _opened(content: bytes) -> Iterator[sqlite3.Connection]:
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as database:
        if hasattr(database, "deserialize"):
            database.deserialize(content)
            yield _bounded(database)
            return
    descriptor, path = tempfile.mkstemp(prefix="doctor-")
    try:
        with os.fdopen(descriptor, "wb") as copy:
            copy.write(content)
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            yield _bounded(database)
    finally:
        Path(path).unlink()


def _bounded(database: sqlite3.Connection) -> sqlite3.Connection:
    database.set_progress_handler(lambda: 1, _STEPS)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _paired(rows: list[tuple[object, ...]]) -> Iterator[Changed]:
    """What replaces a package is beside what it replaces, in one transaction."""
    before = {(row[6], row[1]): _version(row) for row in rows if row[5] == 6}
    for row in rows:
        when, name, action = row[0], clean(str(row[1]), 100), _ACTIONS.get(row[5] if isinstance(row[5], int) else 0)
        if action in (None, "replaced") or not GPU_STACK.match(name) or not isinstance(when, int):
            continue
        old = _version(row) if action == "remove" else before.get((row[6], row[1]))
        yield Changed(_said(when), name, action or "", old, None if action == "remove" else _version(row))


def _version(row: tuple[object, ...]) -> str:
    epoch = f"{row[2]}:" if isinstance(row[2], int) and row[2] else ""
    return clean(f"{epoch}{row[3]}-{row[4]}", 80)


def _said(when: int) -> str:
    try:
        return datetime.fromtimestamp(when, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S+0000")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00+0000"
