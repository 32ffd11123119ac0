"""Report -> JSON, `doctor.report/2`: redacted unless asked not to."""

from __future__ import annotations

import json
from typing import Any

from doctor.errors import InputError
from doctor.findings import Report
from doctor.redaction.pseudonyms import Site
from doctor.redaction.secrets import MASK
from doctor.report.key import redactor_for

_OURS = ("schema", "doctor", "status", "layers", "hints", "clear", "not_applicable")
"""Fields that hold nothing but words of this program."""


def as_data(report: Report, *, unredacted: bool = False, site: Site | None = None) -> dict[str, Any]:
    """Plain data of the published schema; `site` is what its operator says of names."""
    data: dict[str, Any] = report.model_dump(mode="json", by_alias=True)
    if unredacted:
        return data
    redactor = redactor_for(report, site)
    reasons = list(dict.fromkeys(row["reason"] for row in data["unchecked"]))
    body = {key: value for key, value in data.items() if key not in (*_OURS, "unchecked")} | {"reasons": reasons}
    redactor.learn(body)
    masked = redactor.again(redactor.data(body))
    text_of = dict(zip(reasons, masked.pop("reasons"), strict=True))
    unchecked = [{**row, "reason": text_of[row["reason"]]} for row in data["unchecked"]]
    masked = {key: masked.get(key, data[key]) for key in data} | {"unchecked": unchecked}
    folder, slash, name = (masked["source"] or "").rpartition("/")
    if (
        report.source and MASK not in name and site is None
    ):  # a name that the text teaches doesn't rename the file it is found by
        masked["source"] = f"{folder}{slash}{report.source.rpartition('/')[2]}"
    return masked


def private(report: Report, site: Site | None) -> Report:
    """The report as others may read it, for every format alike: what they write of it, text too, holds no name that
    the site hides. Itself without a site. InputError where the word is one of the report's own."""
    if site is None:
        return report
    own = next((w for w in site.hide if any(w.lower() in name for name in Report.model_fields)), "")
    try:
        made = Report.model_validate({} if own else as_data(report, site=site))
    except ValueError:  # pydantic's: of a word that is deeper in it, too
        words = own or ", ".join(site.hide)
        raise InputError(f"--hide {words}: a report's own word; hide what names your site or people") from None
    return made.model_copy(update={"redacted": True})


def render(report: Report, *, unredacted: bool = False) -> str:
    return json.dumps(as_data(report, unredacted=unredacted), indent=2, ensure_ascii=True) + "\n"


def schema() -> dict[str, Any]:
    """The JSON schema of a report, made from the models; docs/report.schema.json is this."""
    made = Report.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "doctor.report/2", **made}


if __name__ == "__main__":
    import sys

    sys.stdout.write(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
