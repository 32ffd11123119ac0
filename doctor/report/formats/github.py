"""Report -> workflow commands of GitHub Actions, redacted: an annotation a finding.

What a value holds can start no command: line ends and the signs of the format are escaped as the runner reads them
(github.com/actions/toolkit, packages/core, command.ts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.findings import Report
from doctor.report.formats.json import as_data
from doctor.report.words import clean, fix_lines, headline

_WORD = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, *, unredacted: bool = False) -> str:
    data = as_data(report, unredacted=unredacted)
    rows = [_annotation(f) for f in data["findings"] if not f["explained_by"]]
    if data["status"] == "unknown":
        rows.append(f"::warning title=doctor::{_data(headline(report))}")
    return "".join(f"{row}\n" for row in rows)


def _annotation(finding: Mapping[str, Any]) -> str:
    rows = [clean(finding["summary"])]
    rows += fix_lines(finding, most=1)
    return annotation(finding["severity"], finding["rule"], "\n".join(rows))


def annotation(severity: str, rule: str, text: str, place: tuple[str, int, int] | None = None) -> str:
    """`place`: file, line and column."""
    at = f"file={_property(place[0])},line={place[1]},col={place[2]}," if place else ""
    return f"::{_WORD[severity]} {at}title={_property(rule)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
