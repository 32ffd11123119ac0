"""Report -> Prometheus' text format for node_exporter's textfile collector, redacted.

Series are few and stable: one a finding that no other explains, and counts; problems by scope are there at 0 too. The
file's own age is the collector's `node_textfile_mtime_seconds`. Rules for alerts are in contrib/prometheus/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.findings import Report, Scope, drains
from doctor.report.formats.json import as_data
from doctor.report.words import clean

_STATUSES = ("ok", "partial", "warning", "error", "unknown")


def render(report: Report, *, unredacted: bool = False) -> str:
    return "".join(f"{row}\n" for row in _rows(as_data(report, unredacted=unredacted)))


def _rows(data: Mapping[str, Any]) -> Iterator[str]:
    yield from _head("doctor_info", "The version of doctor.")
    yield _series("doctor_info", {"version": data["doctor"]}, 1)
    yield from _head("doctor_status", "1 for the verdict that holds.")
    for status in _STATUSES:
        yield _series("doctor_status", {"status": status}, int(status == data["status"]))
    yield from _head("doctor_finding", "A finding that no other explains.")
    for labels, count in _findings(data).items():
        yield _series("doctor_finding", dict(labels), count)
    counted = [f for f in data["findings"] if not f["explained_by"]]
    yield from _head("doctor_problems", "Errors and warnings by whose matter they are.")
    problems = Counter((f["scope"] or "host", f["severity"]) for f in counted)
    for scope in Scope:
        for severity in ("error", "warning"):
            of = {"scope": scope.value, "severity": severity}
            yield _series("doctor_problems", of, problems[scope.value, severity])
    yield from _head("doctor_drain", "Findings that are a reason to keep jobs from this node.")
    yield _series("doctor_drain", {}, sum(drains(f["severity"], f["scope"], f["action"]) for f in counted))
    yield from _head("doctor_checks", "Rules by what came of them.")
    outcomes = {
        "clear": len(data["clear"]),
        "unchecked": sum(not u["crashed"] for u in data["unchecked"]),
        "crashed": sum(u["crashed"] for u in data["unchecked"]),
        "suppressed": len(data["suppressed"]),
    }
    for outcome, count in outcomes.items():
        yield _series("doctor_checks", {"outcome": outcome}, count)
    if data["snapshot"]["gpus"] is not None:
        yield from _head("doctor_gpus", "GPUs that were found.")
        vendors = Counter(gpu["vendor"] or "unknown" for gpu in data["snapshot"]["gpus"])
        for vendor in sorted({"amd", "nvidia", *vendors}):
            yield _series("doctor_gpus", {"vendor": vendor}, vendors[vendor])


def _findings(data: Mapping[str, Any]) -> Counter[tuple[tuple[str, str], ...]]:
    """A series must be unique: equal labels are counted."""
    return Counter(
        (
            ("rule", f["rule"]),
            ("severity", f["severity"]),
            ("scope", f["scope"] or "host"),
            ("action", f["action"] or "inform"),
            ("subject", f["subject"]["id"]),
            ("basis", f["basis"]),
        )
        for f in data["findings"]
        if not f["explained_by"]
    )


def _head(name: str, what: str) -> Iterator[str]:
    yield from (f"# HELP {name} {what}", f"# TYPE {name} gauge")


def _series(name: str, labels: Mapping[str, str], value: int) -> str:
    inside = ",".join(f'{key}="{_label(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _label(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
