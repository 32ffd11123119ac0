"""Report -> Markdown: a reply that a maintainer can paste under an issue.

Redacted. Everything that may come from outside is inert: no mention, no link, no reference to an issue, no raw HTML,
and no fence that it could close.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from doctor.findings import Hint, Report
from doctor.report.formats.json import as_data
from doctor.report.words import best_guess, clean, from_text, gpu_line, headline, reader_failures
from doctor.rules.lib.error_texts import request
from doctor.rules.lib.run_line import sees_none, vendors_meant
from doctor.rules.lib.torch_install import on_jetson

STREAMS = True
FOR_OTHERS = True
_GAP = "\u200b"
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$^{}])")
_GUIDES = r"docs\.nvidia\.com|(?:rocm|instinct)\.docs\.amd\.com|docs\.docker\.com|learn\.microsoft\.com"
"""Hosts of vendors' guides: a link to one of their pages stays a link."""
_LIVE = re.compile(
    r"@(?=\w)|#(?=\w)|\bGH-(?=\d)|\b(?:https?|ftp|xmpp|mailto|javascript|data|vbscript):(?=\S)"
    rf"(?!//(?:{_GUIDES})/)|(?<=www)(?=\.)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LEADING = re.compile(r"^(\s*)([#+=>-]|\d{1,9}[.)])(?=\s|$|-)")
_SCOPES = {
    "environment": "in the Python environment",
    "container": "the container",
    "job": "the job",
    "host": "on the host",
    "driver": "on the host",
}
_CAUSES = 2
"""Causes that one reply names."""
_EVIDENCE_LIMIT = 2
_EVIDENCE_CHARACTERS = 300


def render(report: Report) -> str:
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
    errors = {symptom["text"] for symptom in data["snapshot"]["symptoms"]}
    for number, finding in enumerate(problems[:_CAUSES]):
        if number:
            yield ""
        same = number and problems[0]["remedies"][:1] == finding["remedies"][:1]
        yield from _cause(finding | ({"remedies": ()} if same else {}), errors, short=number > 0)
        if same and finding["remedies"]:
            yield "**Fix**: as above."
    if problems:
        return
    found = next((f["summary"] for f in top if f["scope"] == "hardware"), "")
    hint = best_guess(report)
    if not (report.snapshot.symptoms or report.reports_failure is not False):
        hint = None
    if hint or from_text(report):
        yield from _nothing(report, hint, found)
    else:
        yield headline(report)


def _cause(finding: dict[str, Any], errors: set[str], *, short: bool) -> Iterator[str]:
    """The cause, how sure, what shows it, why it matters, one fix, one request."""
    sure = "high" if finding["basis"] == "both" else "medium"
    yield f"**{inert(finding['summary'].rstrip('.'))}** ({sure} confidence)"
    rows, more = finding["evidence"][:_EVIDENCE_LIMIT], finding["evidence"][_EVIDENCE_LIMIT:]
    if not any(row["text"] in errors for row in rows):
        rows = [*rows, *[row for row in more if row["text"] in errors][:1]]
    for row in rows[:1] if short else rows:
        yield f"> {code(_short(row['text']))} ({inert(_place(row['source']))})"
    yield ""
    if finding["why"] and not short:
        yield from (inert(finding["why"]), "")
    if finding["remedies"]:
        yield from _fix(finding["remedies"][0])
    if finding["ask"]:
        please = ("", "If it still happens, please") if finding["remedies"] else ("Please",)
        yield from (*please[:-1], f"{please[-1]} add {finding['ask']}.")


def _short(text: str) -> str:
    return text if len(text) <= _EVIDENCE_CHARACTERS else f"{text[:_EVIDENCE_CHARACTERS]} …"


def _fix(remedy: dict[str, Any]) -> Iterator[str]:
    notes = [_SCOPES.get(remedy["scope"], remedy["scope"]), *["as root"] * remedy["root"]]
    notes += ["then reboot"] * remedy["reboot"] + [f"restarts {inert(name)}" for name in remedy["restarts"]]
    yield f"**Fix** ({', '.join(notes)}): {inert(remedy['title'])}"
    steps = remedy["steps"]
    if any(step["command"] for step in steps):
        text = "\n".join(clean(line) for step in steps for line in _step(step, remedy["title"]))
        ticks = "`" * max(3, _longest_run(text) + 1)
        yield from (f"{ticks}sh", text, ticks)
    else:
        yield from (f"- {inert(step['text'])}" for step in steps if not _repeats(step["text"], remedy["title"]))
    if remedy["risk"]:
        yield f"Risk: {inert(remedy['risk'])}"


def _step(step: dict[str, Any], title: str) -> Iterator[str]:
    """The command; above it, as a comment, what it does."""
    command = shlex.join(step["command"] or ())
    if not _repeats(step["text"], title) and step["text"].rstrip(".").lower() not in command:
        yield f"# {step['text']}"
    if command:
        yield command


def _repeats(text: str, title: str) -> bool:
    return text.rstrip(".") == title.rstrip(".")


def _nothing(report: Report, hint: Hint | None, found: str) -> Iterator[str]:
    """No cause was found; a hint: the words are like those of texts with known causes."""
    if report.reports_failure is False and not report.snapshot.symptoms:
        yield "I found no problem in this text that I can name. If something fails, please add the full error message."
        return
    yield f"I found no known cause in this text. {_shown(report)}"
    if found:
        yield f"Worth knowing: {inert(found)}"
    if hint:
        yield from (f"My guess (not sure): {inert(hint.title)}", f"Please add {hint.ask}.")
        return
    machine = report.snapshot
    vendors = vendors_meant(machine)
    wanted = [] if machine.symptoms else ["the full error message"]
    if more := request(machine):
        wanted.append(more)
    elif machine.container.engine == "kubernetes":
        wanted = ["the output of `kubectl describe node NODE` and the log of the device plugin's pod on that node"]
    elif on_jetson(machine):
        wanted.append("the output of `cat /etc/nv_tegra_release` and `python -m torch.utils.collect_env`")
    elif vendors != {"nvidia"} or machine.nvidia_driver.version is None:
        nodes = ", `ls -ln /dev/kfd /dev/dri` and `id`" if vendors == {"amd"} and sees_none(machine) else ""
        wanted.append(f"{_OUTPUT[next(iter(vendors))]}{nodes}" if len(vendors) == 1 else _TOOLS)
    elif not machine.torch.version:
        wanted.append("the output of `python -m torch.utils.collect_env`")
    elif not wanted:
        wanted.append("the command that failed, and all that it printed")
    yield f"Please add {' and '.join(wanted)}, or attach `doctor bundle`."


_OUTPUT = {"nvidia": "the output of `nvidia-smi`", "amd": "the output of `rocminfo`"}
_TOOLS = "the output of `nvidia-smi` (NVIDIA) or `rocminfo` (AMD)"


def _shown(report: Report) -> str:
    """`It shows an RTX 4090 and torch 2.9.1, but no error message.`"""
    machine = report.snapshot
    shown = [gpu_line(machine)] if machine.gpus else []
    if machine.torch.version:
        shown.append(f"torch {machine.torch.version}")
    if machine.nvidia_driver.version:
        shown.append(f"driver {machine.nvidia_driver.version}")
    lacks = [] if machine.symptoms else ["no error message that I know"]
    if not machine.nvidia_driver.version and any(not machine.driver_known(g.vendor or "") for g in machine.gpus or ()):
        lacks.append("no driver version")
    if not shown:
        return "I could not read from it which GPU, driver and torch are used."
    but = f", but {' and '.join(lacks)}" if lacks else ""
    return f"It shows {inert(', '.join(shown))}{but}."


def _place(source: str) -> str:
    found = re.fullmatch(r"text:(\d+)", source)
    return f"line {found[1]}" if found else source
