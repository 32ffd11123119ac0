"""Report -> JSON, `doctor.report/1`: redacted unless it is told not to."""

from __future__ import annotations

import json
from typing import Any

from doctor.findings import Report
from doctor.redaction import Redactor
from doctor.redaction.secrets import MASK
from doctor.report.key import key_of


def as_data(report: Report, *, unredacted: bool = False) -> dict[str, Any]:
    """Plain data of the published schema."""
    data: dict[str, Any] = report.model_dump(mode="json", by_alias=True)
    if unredacted:
        return data
    redactor = Redactor(key=key_of(report), remember=True)
    redactor.learn(data)
    kept = {key: data[key] for key in ("schema", "doctor", "status")}
    told = {**redactor.again(redactor.data(data)), **kept}
    folder, slash, name = (told["source"] or "").rpartition("/")
    if report.source and MASK not in name:  # a name that the text teaches doesn't rename the file it is found by
        told["source"] = f"{folder}{slash}{report.source.rpartition('/')[2]}"
    return told


def render(report: Report, *, unredacted: bool = False) -> str:
    """Indented, with a newline at its end."""
    return json.dumps(as_data(report, unredacted=unredacted), indent=2, ensure_ascii=True) + "\n"


def schema() -> dict[str, Any]:
    """The JSON schema of a report, made from the models; docs/report.schema.json is this."""
    made = Report.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "doctor.report/1", **made}


if __name__ == "__main__":
    import sys

    sys.stdout.write(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
