"""What `doctor triage --why` prints of one text: what was found where, what was read, which rules were near.

The data is redacted as a report is. Its form is `doctor.why/1`: `source`, `fragments` (first and last line, command,
formats with the number of facts), `facts` (name, value, source), `symptoms`, `findings`, `near` (rule, knows, lacks).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from doctor.facts import Snapshot, State
from doctor.findings import Report
from doctor.redaction.pseudonyms import Site
from doctor.report.key import redactor_for
from doctor.report.words import clean, plural

SHOWN = 12
"""Near rules that the text shows; the data has all."""
_VALUE = 300


def as_data(
    report: Report,
    fragments: Sequence[Mapping[str, Any]],
    near: Iterable[tuple[str, Sequence[str], Sequence[str]]],
    site: Site | None = None,
) -> dict[str, Any]:
    """Plain data, redacted."""
    data: dict[str, Any] = {
        "source": report.source,
        "fragments": [dict(row) for row in fragments],
        "facts": list(_facts(report.snapshot)),
        "symptoms": [{"id": s.key, "text": s.text, "source": s.source} for s in report.snapshot.symptoms],
        "findings": [{"rule": f.rule, "severity": f.severity.value, "basis": f.basis} for f in report.findings],
        "near": [{"rule": rule, "knows": list(knows), "lacks": list(lacks)} for rule, knows, lacks in near],
    }
    redactor = redactor_for(report, site)
    redactor.learn(report.model_dump(mode="json", by_alias=True))
    return {"schema": "doctor.why/1", **redactor.again(redactor.data(data))}


def render_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")) + "\n"


def render(data: Mapping[str, Any]) -> str:
    return "".join(f"{line}\n" for line in _lines(data))


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"Why: {clean(str(data['source'] or 'this text'))}"
    yield f"  {plural(len(data['fragments']), 'fragment')} read as a format"
    for row in data["fragments"]:
        command = f" of `{clean(row['command'])[:60]}`" if row["command"] else ""
        formats = ", ".join(f"{one['format']} ({plural(one['facts'], 'fact')})" for one in row["formats"])
        yield f"    lines {row['first']}-{row['last']}{command}: {formats}"
    yield f"  {plural(len(data['facts']), 'fact')}"
    for row in data["facts"]:
        yield f"    {row['source']}: {clean(row['name'])} = {clean(row['value'])}"
    yield f"  {plural(len(data['symptoms']), 'symptom')}"
    for row in data["symptoms"]:
        yield f"    {row['source']}: {row['id']}: {clean(row['text'])[:120]}"
    yield f"  {plural(len(data['findings']), 'finding')}"
    for row in data["findings"]:
        yield f"    {row['rule']} ({row['severity']}, by {row['basis']})"
    yield f"  {plural(len(data['near']), 'rule')} near"
    for row in data["near"][:SHOWN]:
        lacks = ", ".join(clean(word) for word in row["lacks"]) or "nothing; other findings point to it"
        yield f"    {row['rule']}: knows {', '.join(clean(word) for word in row['knows'])}; lacks {lacks}"
    if len(data["near"]) > SHOWN:
        yield f"    and {len(data['near']) - SHOWN} more"


def _facts(machine: Snapshot) -> Iterator[dict[str, Any]]:
    """What was read, in the order of its lines; symptoms apart."""
    rows = []
    for name, origin in machine.origins.items():
        if name.startswith("symptoms[") or origin.state not in (State.VALUE, State.ABSENT):
            continue
        value = machine.get(name)
        shown = [str(getattr(row, "name", row)) for row in value[:20]] if name == "packages" else value
        rows.append({"name": name, "value": _plain(shown), "source": origin.source})
    yield from sorted(rows, key=lambda row: _line(row["source"]))


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)) and value and hasattr(value[0], "model_dump"):
        value = [row.model_dump(exclude_none=True) for row in value[:20]]
    return str(value)[:_VALUE]


def _line(source: str) -> int:
    number = source.rpartition(":")[2]
    return int(number) if number.isdecimal() and len(number) < 12 else 0
