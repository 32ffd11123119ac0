"""Faults of files -> SARIF 2.1.0, as code scanning takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from doctor.images.lint.model import RULES, Fault

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(rows: Sequence[tuple[Path, Fault]], version: str) -> str:
    """`version`: of the doctor. Paths stay as they were given: relative to where a checkout begins."""
    ids = sorted(RULES)
    rules = [{"id": rule, "shortDescription": {"text": RULES[rule]}} for rule in ids]
    driver = {"name": "doctor image lint", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(path, fault, ids) for path, fault in rows]}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(path: Path, fault: Fault, ids: Sequence[str]) -> dict[str, Any]:
    where = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    place = {"artifactLocation": {"uri": where}, "region": {"startLine": max(fault.line, 1)}}
    return {
        "ruleId": fault.rule,
        "ruleIndex": ids.index(fault.rule),
        "level": _LEVELS[fault.level],
        "message": {"text": f"{fault.text}. Fix: {fault.fix}"},
        "locations": [{"physicalLocation": place}],
        **({"suppressions": [{"kind": "inSource"}]} if fault.ignored else {}),
    }
