"""Findings that the user allows, from a file that the user names or keeps in their own configuration.

    [[allow]]
    rule = "numa-balancing-enabled"
    subject = "-"                       # optional; all subjects without it
    reason = "The NUMA team wants it on, ticket 4711."
    until = 2026-12-31                  # optional; the last day on which it counts

Never read from the working directory. Every fault of the file is listed at once.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor.errors import DataFileError
from doctor.system.given import read_given

if TYPE_CHECKING:
    from doctor.findings import Finding, Suppressed

_KEYS = {"rule", "subject", "reason", "until"}


@dataclass(frozen=True)
class Allowed:
    """One entry. `by` is the file that holds it; `until` the last day on which it counts."""

    rule: str
    reason: str
    by: str
    subject: str | None = None
    until: datetime.date | None = None

    def covers(self, finding: Finding, today: datetime.date) -> bool:
        return (
            self.rule == finding.rule
            and self.subject in (None, finding.subject.id)
            and (self.until is None or today <= self.until)
        )


def user_file() -> Path | None:
    """The user's own allow-list, where there is one."""
    base = os.environ.get("XDG_CONFIG_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".config"
    path = folder / "doctor" / "allow.toml"
    try:
        return path if path.is_file() else None
    except OSError:  # HOME is another account's (sudo -u, setpriv): what may not be entered is not the user's own
        return None


def load(path: Path) -> tuple[Allowed, ...]:
    """Raises InputError when it can't be read, DataFileError with all its faults."""
    from doctor.profiles import toml_text

    table = toml_text.table(str(path), read_given(path))
    faults = [f"{key}: unknown; the file has [[allow]] tables only" for key in table if key != "allow"]
    rows = table.get("allow", [])
    if not isinstance(rows, list):
        raise DataFileError(str(path), [*faults, "allow: write [[allow]], one table an entry"])
    entries = [_entry(row, f"allow[{number}]", str(path), faults) for number, row in enumerate(rows, 1)]
    if faults:
        raise DataFileError(str(path), faults)
    return tuple(e for e in entries if e)


def _entry(row: Any, where: str, path: str, faults: list[str]) -> Allowed | None:
    if not isinstance(row, dict):
        faults.append(f"{where}: expected a table")
        return None
    before = len(faults)
    faults += [f"{where}.{key}: unknown; known are {', '.join(sorted(_KEYS))}" for key in sorted(set(row) - _KEYS)]
    for key in ("rule", "reason"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            faults.append(f"{where}.{key}: a text is required")
    if not isinstance(row.get("subject", ""), str):
        faults.append(f"{where}.subject: expected a text")
    until = row.get("until")
    if isinstance(until, datetime.datetime):
        until = until.date()
    if until is not None and not isinstance(until, datetime.date):
        faults.append(f"{where}.until: expected a date, such as 2026-12-31 without quotes")
    if len(faults) > before:
        return None
    return Allowed(row["rule"], row["reason"].strip(), path, row.get("subject"), until)


def suppress(
    findings: Iterable[Finding], allowed: Sequence[Allowed], today: datetime.date | None = None
) -> tuple[list[Finding], list[Suppressed]]:
    """Findings that stay, and those that an entry covers."""
    from doctor.findings import Suppressed

    today = today or datetime.datetime.now(tz=datetime.timezone.utc).date()
    kept: list[Finding] = []
    gone: list[Suppressed] = []
    for finding in findings:
        entry = next((a for a in allowed if a.covers(finding, today)), None)
        if entry is None:
            kept.append(finding)
        else:
            gone.append(
                Suppressed(rule=finding.rule, fingerprint=finding.fingerprint, reason=entry.reason, by=entry.by)
            )
    return kept, gone
