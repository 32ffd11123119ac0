"""Report -> one line of JSON: the object of json.py, redacted like it, for many reports in one stream."""

from __future__ import annotations

import json

from doctor.findings import Report
from doctor.report.formats.json import as_data

STREAMS = True


def render(report: Report, *, unredacted: bool = False) -> str:
    return json.dumps(as_data(report, unredacted=unredacted), ensure_ascii=True, separators=(",", ":")) + "\n"
