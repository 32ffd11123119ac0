"""Report -> SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), redacted.

Every result has one physical location, for GitHub refuses an upload without: the line of the text, else the file that a
finding's evidence names, else an artificial one of its subject under `doctor/`. What the user allows stays in the list,
as suppressed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.findings import Finding, Report, Rule
from doctor.report.formats.json import as_data
from doctor.report.words import clean, fix_lines

NEEDS_RULES = True
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_LINE = re.compile(r"text:(?:.*:)?(\d{1,9})")
_FILE = re.compile(r"file:(/?[^*?\[\]]{1,4096}?)(?::(\d{1,9}))?")
"""What evidence was read from; a pattern of several files is no location."""
_BASE = "MACHINE"
"""The root folder of the machine that was checked: what its files are relative to."""
_MOST_RESULTS = 25_000
_MOST_TAGS = 10
"""GitHub refuses a run with more results, and shows no more tags of a rule (docs.github.com, "SARIF results exceed one
or more limits", 2026-11-23)."""
_RANK = {"error": "error", "warning": "warning", "info": "recommendation"}


def render(report: Report, rules: Sequence[Rule], *, unredacted: bool = False) -> str:
    """`rules` are all that could have been found: a viewer shows what they say of themselves."""
    data = as_data(report, unredacted=unredacted)
    ids = sorted(
        {r.id for r in rules} | {f["rule"] for f in data["findings"]} | {s["rule"] for s in data["suppressed"]}
    )
    known = {rule.id: rule for rule in rules}
    results = [*(_result(f, ids, data) for f in data["findings"]), *(_allowed(s, ids) for s in data["suppressed"])]
    run = {
        "tool": {
            "driver": {
                "name": "doctor",
                "fullName": "rocm-cuda-doctor",
                "version": data["doctor"],
                "rules": [_rule(rule_id, known.get(rule_id)) for rule_id in ids],
            }
        },
        "results": results[:_MOST_RESULTS],
        "properties": {"status": data["status"], "unchecked": len(data["unchecked"]), "results": len(results)},
    }
    return log(run)


def log(run: Mapping[str, Any]) -> str:
    made = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"originalUriBaseIds": {_BASE: {"uri": "file:///"}}, **run}],
    }
    return json.dumps(made, indent=2, ensure_ascii=True) + "\n"


def of_a_file(finding: Finding, ids: Sequence[str], text: str, place: tuple[str, int, int] | None) -> dict[str, Any]:
    """A result at a file's line and column."""
    made: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": _LEVEL[finding.severity.value],
        "message": {"text": text},
        "partialFingerprints": _prints(finding.fingerprint),
    }
    if place:
        where = _place(place[0].removeprefix("./"), place[1])
        where["region"]["startColumn"] = place[2]
        made["locations"] = [{"physicalLocation": where}]
    return made


def _rule(rule_id: str, rule: Rule | None) -> dict[str, Any]:
    if rule is None:
        text = {"text": rule_id}  # an older name, or another version's: GitHub asks for all three
        return {"id": rule_id, "shortDescription": text, "fullDescription": text, "help": text}
    return {
        "id": rule_id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.title},
        "help": {"text": rule.doc, "markdown": rule.doc},
        "defaultConfiguration": {"level": _LEVEL[rule.severity.value]},
        "properties": {
            "tags": sorted(rule.tags)[:_MOST_TAGS],
            "problem.severity": _RANK[rule.severity.value],
            "scope": rule.scope.value,
            "action": rule.action.value,
        },
    }


def _result(finding: Mapping[str, Any], ids: Sequence[str], data: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding["rule"],
        "ruleIndex": ids.index(finding["rule"]),
        "level": _LEVEL[finding["severity"]],
        "message": {"text": _message(finding)},
        "locations": [_location(finding, data)],
        "partialFingerprints": _prints(finding["fingerprint"]),
        "properties": {"basis": finding["basis"], "scope": finding["scope"], "action": finding["action"]},
    }
    if finding["explained_by"]:
        result["properties"]["explainedBy"] = finding["explained_by"]
    return result


def _message(finding: Mapping[str, Any]) -> str:
    rows = [clean(finding["summary"])]
    rows += [f"{clean(row['text'])} ({clean(row['source'])})" for row in finding["evidence"][:5]]
    rows += fix_lines(finding)
    return "\n".join(rows)


def _location(finding: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    subject = finding["subject"]
    name = f"{subject['kind']}:{subject['id']}" if subject["id"] != "-" else subject["kind"]
    return {
        "physicalLocation": _physical(finding, data),
        "logicalLocations": [{"name": clean(name), "kind": "resource"}],
    }


def _physical(finding: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    sources = [row["source"] for row in finding["evidence"]]
    line = next((int(m[1]) for source in sources if (m := _LINE.fullmatch(source))), 0)
    if line:
        return _place(data["source"] or "doctor/pasted-text", line)
    read = next((m for source in sources if (m := _FILE.fullmatch(source))), None)
    if read:
        return _place("/" + read[1].lstrip("/"), int(read[2] or 0))
    return _artificial(finding["subject"])


def _artificial(subject: Mapping[str, Any]) -> dict[str, Any]:
    """A place for what is in no file: `doctor/gpu/0000-c1-00.0`."""
    named = [part for part in (subject["kind"], *subject["id"].split("/")) if part.strip(".")]
    return _place("/".join(["doctor", *(re.sub(r"[^A-Za-z0-9._-]", "-", part)[:100] for part in named)]))


def _place(path: str, line: int = 0) -> dict[str, Any]:
    from urllib.parse import quote

    artifact = {"uri": quote(path.lstrip("/"), safe="/")}
    if path.startswith("/"):
        artifact["uriBaseId"] = _BASE
    return {"artifactLocation": artifact, "region": {"startLine": max(line, 1)}}


def _prints(fingerprint: str) -> dict[str, str]:
    """GitHub tells alerts apart by the second one, and makes it of the file's text where it is missing."""
    return {"doctor/v1": fingerprint, "primaryLocationLineHash": f"{fingerprint}:1"}


def _allowed(suppressed: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    return {
        "ruleId": suppressed["rule"],
        "ruleIndex": ids.index(suppressed["rule"]),
        "level": "note",
        "message": {"text": f"Allowed: {clean(suppressed['reason'])}"},
        "locations": [{"physicalLocation": _artificial({"kind": "allowed", "id": suppressed["rule"]})}],
        "partialFingerprints": _prints(suppressed["fingerprint"]),
        "suppressions": [{"kind": "external", "justification": clean(suppressed["reason"])}],
    }
