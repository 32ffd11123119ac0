"""Report -> Markdown: a reply that a maintainer can paste under an issue.

Redacted. Everything that may come from outside is inert: no mention, no link, no reference to an issue, no raw HTML,
and no fence that it could close.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from doctor.findings import Report
from doctor.report.formats.json import as_data
from doctor.report.words import clean, from_text, gpu_line, headline, reader_failures, sureness

STREAMS = True
FOR_OTHERS = True
_GAP = "\u200b"
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$^{}])")
_LIVE = re.compile(
    r"@(?=\w)|#(?=\w)|\bGH-(?=\d)|\b(?:https?|ftp|xmpp|mailto|javascript|data|vbscript):(?=\S)|(?<=www)(?=\.)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LEADING = re.compile(r"^(\s*)([#+=>-]|\d{1,9}[.)])(?=\s|$|-)")
_SCOPES = {
    "environment": "in this environment",
    "container": "the container",
    "job": "the job",
    "host": "on the host",
    "driver": "on the host",
}
_CAUSES = 2
"""Causes that one reply names."""
_EVIDENCE_LIMIT = 2
_EVIDENCE_CHARACTERS = 200


def render(report: Report) -> str:
    """The whole reply, with a newline at its end."""
    data = as_data(report)
    lines = [*_lines(report, data), *(f"_{inert(line)}_" for line in reader_failures(report.snapshot))]
    if report.knowledge and report.knowledge.file:
        lines += ["", *(f"_{inert(note)}_" for note in report.knowledge.notes())]
    return "\n".join(lines).rstrip("\n") + "\n"


def inert(text: str, *, in_table: bool = False) -> str:
    """One line of Markdown that shows the text as it is and does nothing. Text in single backticks is code."""
    plain, *rest = _SPAN.split(clean(text))
    span = cell if in_table else code
    return _LEADING.sub(r"\1\\\2", _escaped(plain)) + "".join(
        span(part) if number % 2 == 0 else _escaped(part) for number, part in enumerate(rest)
    )


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _LIVE.sub(lambda found: found[0] + _GAP, text))


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


def _lines(report: Report, data: dict[str, Any]) -> Iterator[str]:
    top = [f for f in data["findings"] if not f["explained_by"]]
    problems = [f for f in top if f["severity"] != "info"]
    for number, finding in enumerate(problems[:_CAUSES]):
        if number:
            yield ""
        yield from _cause(finding, short=number > 0)
    if problems:
        return
    found = next((f["summary"] for f in top if f["scope"] == "hardware"), "")
    if report.hints:
        yield from _guess(report, found)
    elif from_text(report):
        yield from _nothing(report, found)
    else:
        yield headline(report)


def _cause(finding: dict[str, Any], *, short: bool) -> Iterator[str]:
    """The cause, how sure, what shows it, why it matters, one fix, one request."""
    sure = "high" if finding["basis"] == "both" else "medium"
    yield f"**{inert(finding['summary'].rstrip('.'))}** ({sure} confidence)"
    for row in finding["evidence"][: 1 if short else _EVIDENCE_LIMIT]:
        yield f"> {code(row['text'][:_EVIDENCE_CHARACTERS])} ({inert(_place(row['source']))})"
    yield ""
    if finding["why"] and not short:
        yield from (inert(finding["why"]), "")
    if finding["remedies"]:
        yield from _fix(finding["remedies"][0])
    if finding["ask"]:
        yield from ("", f"If it still happens, please add {finding['ask']}.")


def _fix(remedy: dict[str, Any]) -> Iterator[str]:
    notes = [_SCOPES.get(remedy["scope"], remedy["scope"]), *["as root"] * remedy["root"]]
    notes += ["then reboot"] * remedy["reboot"] + [f"restarts {inert(name)}" for name in remedy["restarts"]]
    yield f"**Fix** ({', '.join(notes)}): {inert(remedy['title'])}"
    steps = remedy["steps"]
    if any(step["command"] for step in steps):
        yield from _fence("\n".join(clean(line) for step in steps for line in _step(step, remedy["title"])))
    else:
        yield from (f"- {inert(step['text'])}" for step in steps if not _repeats(step["text"], remedy["title"]))
    if remedy["risk"]:
        yield f"Risk: {inert(remedy['risk'])}"


def _step(step: dict[str, Any], title: str) -> Iterator[str]:
    """The command; above it, as a comment, what a person must do or fill in."""
    argv = step["command"] or ()
    fill_in = any(word in step["text"] for part in argv for word in _PLACEHOLDER.findall(part))
    if (not argv or fill_in) and not _repeats(step["text"], title):
        yield f"# {step['text']}"
    if argv:
        yield shlex.join(argv)


_PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]{3,}\b")


def _repeats(text: str, title: str) -> bool:
    return text.rstrip(".") == title.rstrip(".")


def _guess(report: Report, found: str) -> Iterator[str]:
    """Nothing was found, and the words are like those of texts with known causes."""
    hint = report.hints[0]
    yield f"I found no known cause in this text. {_shown(report)}"
    if found:
        yield f"Worth knowing: {inert(found)}"
    yield f"My guess ({sureness(hint.confidence)} confidence): {inert(hint.title)}"
    yield f"Please add {hint.ask}."


def _nothing(report: Report, found: str) -> Iterator[str]:
    yield f"I found no known cause in this text. {_shown(report)}"
    if found:
        yield f"Worth knowing: {inert(found)}"
    vendors = {gpu.vendor for gpu in report.snapshot.gpus or ()}
    driver = "`nvidia-smi`" if "nvidia" in vendors else "`rocminfo`" if "amd" in vendors else _TOOLS
    there = vendors == {"nvidia"} and report.snapshot.nvidia_driver.version is not None
    output = "" if there else f" and the output of {driver}"
    yield f"Please add the full error message{output}, or attach `doctor bundle`."


_TOOLS = "`nvidia-smi` (NVIDIA) or `rocminfo` (AMD)"


def _shown(report: Report) -> str:
    """`It shows an RTX 4090 and torch 2.9.1, but no error message.`"""
    machine = report.snapshot
    shown = [gpu_line(machine)] if machine.gpus else []
    if machine.torch.version:
        shown.append(f"torch {machine.torch.version}")
    if machine.nvidia_driver.version:
        shown.append(f"driver {machine.nvidia_driver.version}")
    lacks = [] if machine.symptoms else ["no error message that I know"]
    if machine.gpus and not any(machine.driver_known(v) for v in ("nvidia", "amd") if machine.of_vendor(v)):
        lacks.append("no state of the driver")
    if not shown:
        return "It names no GPU, driver or torch."
    but = f", but {' and '.join(lacks)}" if lacks else ""
    return f"It shows {inert(', '.join(shown))}{but}."


def _fence(text: str) -> Iterator[str]:
    ticks = "`" * max(3, _longest_run(text) + 1)
    yield from (f"{ticks}sh", text, ticks)


def _place(source: str) -> str:
    found = re.fullmatch(r"text:(\d+)", source)
    return f"line {found[1]}" if found else source
