"""Findings of `doctor env` for programs that place them in a file: SARIF 2.1.0 and GitHub's annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.files import Looked

_PLACE = re.compile(r"(.{1,4000}?):(\d{1,7})(?::(\d{1,7}))?")
_GITHUB = {"error": "error", "warning": "warning", "info": "notice"}


def place(finding: Finding) -> tuple[str, int, int] | None:
    """(file, line, column) that its first evidence names."""
    found = _PLACE.fullmatch(finding.evidence[0].source) if finding.evidence else None
    return (found[1], int(found[2]), int(found[3] or 1)) if found else None


def sarif(looked: Sequence[Looked]) -> str:
    from doctor.report import in_files

    rows = []
    for finding in (f for one in looked for f in one.findings):
        where = place(finding) or ("", 1, 1)
        row = in_files.Row(finding.rule, finding.severity.value, _message(finding), *where, finding.fingerprint)
        rows.append(row)
    return in_files.sarif("doctor env", rows, {})


def _message(finding: Finding) -> str:
    from doctor.report.words import clean

    return clean(" ".join([finding.summary, *(remedy.title for remedy in finding.remedies[:2])]))


def github(looked: Sequence[Looked]) -> str:
    return "".join(f"{line}\n" for one in looked for line in _annotations(one))


def _annotations(one: Looked) -> Iterator[str]:
    for finding in one.findings:
        where = place(finding)
        at = f" file={_property(where[0])},line={where[1]},col={where[2]},title={finding.rule}" if where else ""
        yield f"::{_GITHUB[finding.severity.value]}{at}::{_escaped(_message(finding))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
