"""Report -> SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), redacted.

A finding about a line of a text has a physical location, every other the logical one of its subject. What the user
allows stays in the list, as suppressed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.findings import Report, Rule
from doctor.report.json import as_data
from doctor.report.words import clean

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_LINE = re.compile(r"text:(?:.*:)?(\d{1,9})")


def render(report: Report, rules: Sequence[Rule], *, unredacted: bool = False) -> str:
    """`rules` are all that could have been found: a viewer shows what they say of themselves."""
    data = as_data(report, unredacted=unredacted)
    ids = sorted(
        {r.id for r in rules} | {f["rule"] for f in data["findings"]} | {s["rule"] for s in data["suppressed"]}
    )
    known = {rule.id: rule for rule in rules}
    run = {
        "tool": {
            "driver": {
                "name": "doctor",
                "fullName": "rocm-cuda-doctor",
                "version": data["doctor"],
                "rules": [_rule(rule_id, known.get(rule_id)) for rule_id in ids],
            }
        },
        "results": [
            *(_result(f, ids, data) for f in data["findings"]),
            *(_allowed(s, ids) for s in data["suppressed"]),
        ],
        "properties": {"status": data["status"], "unchecked": len(data["unchecked"])},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _rule(rule_id: str, rule: Rule | None) -> dict[str, Any]:
    if rule is None:
        return {"id": rule_id}
    return {
        "id": rule_id,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.doc, "markdown": rule.doc},
        "defaultConfiguration": {"level": _LEVEL[rule.severity.value]},
        "properties": {"tags": sorted(rule.tags)},
    }


def _result(finding: Mapping[str, Any], ids: Sequence[str], data: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding["rule"],
        "ruleIndex": ids.index(finding["rule"]),
        "level": _LEVEL[finding["severity"]],
        "message": {"text": _message(finding)},
        "locations": [_location(finding, data)],
        "partialFingerprints": {"doctor/v1": finding["fingerprint"]},
        "properties": {"basis": finding["basis"]},
    }
    if finding["explained_by"]:
        result["properties"]["explainedBy"] = finding["explained_by"]
    return result


def _message(finding: Mapping[str, Any]) -> str:
    rows = [clean(finding["summary"])]
    rows += [f"{clean(row['text'])} ({clean(row['source'])})" for row in finding["evidence"][:5]]
    for fix in finding["fixes"]:
        rows.append(f"Fix: {clean(fix['text'])}")
        if fix["command"]:
            rows.append(f"  {clean(shlex.join(fix['command']))}")
    return "\n".join(rows)


def _location(finding: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    subject = finding["subject"]
    name = f"{subject['kind']}:{subject['id']}" if subject["id"] != "-" else subject["kind"]
    location: dict[str, Any] = {"logicalLocations": [{"name": clean(name), "kind": "resource"}]}
    line = next((m[1] for row in finding["evidence"] if (m := _LINE.fullmatch(row["source"]))), None)
    if data["source"] and line and int(line):
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(data["source"])},
            "region": {"startLine": int(line)},
        }
    return location


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/")


def _allowed(suppressed: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    return {
        "ruleId": suppressed["rule"],
        "ruleIndex": ids.index(suppressed["rule"]),
        "level": "note",
        "message": {"text": f"Allowed: {clean(suppressed['reason'])}"},
        "partialFingerprints": {"doctor/v1": suppressed["fingerprint"]},
        "suppressions": [{"kind": "external", "justification": clean(suppressed["reason"])}],
    }
