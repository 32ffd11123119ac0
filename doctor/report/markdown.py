"""Report -> Markdown: a reply that a maintainer can paste under an issue.

Redacted. Everything that may come from outside is inert: no mention, no link, no reference to an issue, no raw HTML,
and no fence that it could close.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from doctor.findings import KnowledgeUsed, Report
from doctor.report.json import as_data
from doctor.report.words import clean, reader_failures, unjudged

_GAP = "\u200b"
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$^{}])")
_LIVE = re.compile(
    r"@(?=\w)|#(?=\w)|\bGH-(?=\d)|\b(?:https?|ftp|xmpp|mailto|javascript|data|vbscript):(?=\S)|(?<=www)(?=\.)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^(\s*)([#+=>-]|\d{1,9}[.)])(?=\s|$|-)")
_WORDS = {"error": "problem", "warning": "warning", "info": "note"}
_BASIS = {"facts": "from the facts shown", "symptom": "from the error text alone", "both": "from facts and error text"}
_EVIDENCE_LIMIT = 6
_EVIDENCE_CHARACTERS = 300


def render(report: Report) -> str:
    """The whole reply, with a newline at its end."""
    data = as_data(report)
    lines = [*_lines(data, unjudged(report)), *(f"_{inert(line)}_" for line in reader_failures(report.snapshot))]
    return "\n".join(lines).rstrip("\n") + "\n"


def inert(text: str) -> str:
    """One line of Markdown that shows the text as it is and does nothing."""
    text = _LIVE.sub(lambda found: found[0] + _GAP, clean(text))
    return _LEADING.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", text))


def code(text: str) -> str:
    """An inline code span that the text can't leave."""
    text = clean(text).strip() or " "
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def cell(text: str) -> str:
    """A code span for a table, whose bars end cells within code too."""
    return code(text).replace("|", "\\|")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _lines(data: dict[str, Any], why: str) -> Iterator[str]:
    top = [f for f in data["findings"] if not f["explained_by"]]
    problems = [f for f in top if f["severity"] != "info"]
    machine = _of_a_machine(data)
    if not problems and machine and data["status"] == "unknown":
        yield why
    elif not problems:
        yield "No problem was found." if machine else "Nothing in this text names a cause."
    else:
        yield f"**Likely cause:** {inert(problems[0]['summary'])}"
    yield ""
    for number, finding in enumerate(problems or top, 1):
        yield from _finding(number, finding, data["findings"])
    ask = next((f["ask"] for f in data["findings"] if f["ask"]), None)
    if ask:
        yield from (f"To be sure, please add: {inert(ask)}", "")
    used = KnowledgeUsed.model_validate(data["knowledge"]) if data.get("knowledge") else None
    if used and used.file:
        yield from (f"_{inert(note)}_" for note in used.notes())
    missing = [u for u in data["unchecked"] if not u["crashed"]]
    if missing:
        yield f"_{len(missing)} checks could not {'tell' if machine else 'be made from this text'}._"


def _of_a_machine(data: dict[str, Any]) -> bool:
    """Facts were read from a machine and not from a pasted text."""
    sources = [origin["source"] for origin in data["snapshot"]["origins"].values()]
    return bool(sources) and not any(source.startswith("text") for source in sources)


def _finding(number: int, finding: dict[str, Any], all_: list[dict[str, Any]]) -> Iterator[str]:
    yield f"### {number}. {inert(finding['summary'])}"
    yield ""
    yield f"{_WORDS[finding['severity']].capitalize()} {code(finding['rule'])}, {_BASIS[finding['basis']]}."
    yield ""
    for row in finding["evidence"][:_EVIDENCE_LIMIT]:
        yield f"- {code(row['text'][:_EVIDENCE_CHARACTERS])} ({inert(_place(row['source']))})"
    if finding["evidence"]:
        yield ""
    for fix in finding["fixes"]:
        yield from _fix(fix)
    if finding["verify"]:
        yield from ("To check:", "", *_fence(shlex.join(finding["verify"])), "")
    folded = [f["summary"] for f in all_ if f["explained_by"] == finding["fingerprint"]]
    for summary in folded:
        yield f"- This explains: {inert(summary)}"
    if folded:
        yield ""


def _fix(fix: dict[str, Any]) -> Iterator[str]:
    where = {"host": "on the host", "container": "in the container", "environment": "in the Python environment"}
    notes = [where[fix["where"]], *["as root"] * fix["root"], *["then reboot"] * fix["reboot"]]
    yield f"Fix ({', '.join(notes)}): {inert(fix['text'])}"
    if fix["risk"]:
        yield f"Risk: {inert(fix['risk'])}"
    yield ""
    if fix["command"]:
        yield from (*_fence(shlex.join(fix["command"])), "")


def _fence(text: str) -> Iterator[str]:
    ticks = "`" * max(3, _longest_run(text) + 1)
    yield from (f"{ticks}sh", clean(text), ticks)


def _place(source: str) -> str:
    found = re.fullmatch(r"text:(\d+)", source)
    return f"line {found[1]}" if found else source
