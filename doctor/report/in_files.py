"""Findings that lie in files -> SARIF 2.1.0, as code scanning takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


class Row(NamedTuple):
    """`path` "": it lies in no file. `allowed`: a comment of the file says so."""

    rule: str
    severity: str
    text: str
    path: str = ""
    line: int = 1
    column: int | None = None
    fingerprint: str = ""
    allowed: bool = False


def sarif(tool: str, rows: Sequence[Row], titles: Mapping[str, str]) -> str:
    """`titles` of rules. Relative paths stay as they were given: relative to where a checkout begins."""
    import doctor

    ids = sorted({*titles, *(row.rule for row in rows)})
    rules = [{"id": rule, "shortDescription": {"text": titles.get(rule, rule)}} for rule in ids]
    driver = {"name": tool, "version": doctor.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(row, ids) for row in rows]}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _result(row: Row, ids: Sequence[str]) -> dict[str, Any]:
    made = {
        "ruleId": row.rule,
        "ruleIndex": ids.index(row.rule),
        "level": _LEVELS[row.severity],
        "message": {"text": row.text},
    }
    if row.path:
        uri = Path(row.path).as_uri() if row.path.startswith("/") else quote(row.path.removeprefix("./"))
        region = {"startLine": max(row.line, 1), **({"startColumn": row.column} if row.column else {})}
        made["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}]
    if row.fingerprint:
        made["partialFingerprints"] = {"doctor/v1": row.fingerprint}
    if row.allowed:
        made["suppressions"] = [{"kind": "inSource"}]
    return made
