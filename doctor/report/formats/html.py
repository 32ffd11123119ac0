"""Report -> one self-contained HTML page: no script, no network, light and dark, fit for print and for the keyboard.

Redacted unless asked not to. Whatever comes from outside is text: escaped, without control characters, and under a
policy that lets the page load nothing.
"""

# ruff: noqa: E501 -- markup
from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from doctor.findings import KnowledgeUsed, Report
from doctor.redaction.secrets import masked
from doctor.report import picture
from doctor.report.formats.json import as_data
from doctor.report.html_facts import facts
from doctor.report.markup import Data, folded, listed, prose, tag, text
from doctor.report.page import BOTTOM, top
from doctor.report.words import clean, gpu_line, headline, layer_signs, plural

_WORDS = {"error": "Error", "warning": "Warning", "info": "Note"}
_STATUS = {
    "ok": "No problem found",
    "partial": "No problem found, not all checked",
    "warning": "Warnings",
    "error": "Errors",
    "unknown": "Not known",
}
_BASIS = {"symptom": "Based only on this error message.", "both": "Facts and an error message agree."}
_INDEX = ("smi", "pci", "kfd", "hip", "cuda", "visible")
_EVIDENCE = 12
"""Lines of evidence that are shown at once; the others are folded."""


def render(report: Report, *, unredacted: bool = False) -> str:
    """The whole page, with a newline at its end."""
    data = as_data(report, unredacted=unredacted)
    title = f"doctor: {_STATUS[data['status']].lower()}"
    gpus = gpu_line(report.snapshot)
    if report.status in ("partial", "unknown"):
        gpus += f". {headline(report)}"
    gpus = gpus if unredacted else masked(gpus)
    return "".join([top(escape(title)), *_header(data, gpus, layer_signs(report)), *_body(data), BOTTOM])


def _header(data: Data, gpus: str, layers: str) -> Iterator[str]:
    counted = [f for f in data["findings"] if not f["explained_by"]]
    parts = [
        plural(n, kind)
        for kind in ("error", "warning", "note")
        if (n := sum(f["severity"] == ("info" if kind == "note" else kind) for f in counted))
    ]
    yield f'<header>\n<h1><span class="badge {data["status"]}">{_STATUS[data["status"]]}</span></h1>\n'
    yield tag("p", text(", ".join(parts) or "No finding") + ". " + text(gpus), class_="lead")
    yield tag("p", text(layers.replace("  ", " · ")))
    machine = data["snapshot"]
    pairs = [("machine", data["host"] or data["source"] or "this one"), ("checked", data["created"])]
    pairs = [(name, value) for name, value in pairs if value] + [("doctor", data["doctor"])]
    pairs += [(name, value) for name, value in _about(machine) if value]
    rows = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>\n" for name, value in pairs)
    yield tag("dl", rows, class_="about") + "</header>\n<main id='main'>\n"


def _about(machine: Data) -> Iterator[tuple[str, Any]]:
    for label, group, field in (
        ("system", "os", "name"),
        ("kernel", "kernel", "release"),
        ("NVIDIA driver", "nvidia_driver", "version"),
        ("amdgpu driver", "amdgpu_driver", "version"),
        ("torch", "torch", "version"),
        ("container", "container", "engine"),
    ):
        yield label, (machine.get(group) or {}).get(field)


def _body(data: Data) -> Iterator[str]:
    yield from _findings(data["findings"])
    yield from _gpus(data)
    if data["profile"]:
        yield from _profile(data["profile"])
    yield from _rest(data)
    yield from facts(data["snapshot"])


def _findings(findings: list[Data]) -> Iterator[str]:
    yield "<section aria-labelledby='findings'>\n<h2 id='findings'>Findings</h2>\n"
    first = [f for f in findings if not f["explained_by"]]
    known = {f["fingerprint"] for f in first}
    for number, finding in enumerate(first, 1):
        follow = [f for f in findings if f["explained_by"] == finding["fingerprint"]]
        yield _finding(number, finding, follow, opened=number == 1 or finding["severity"] == "error")
    lost = [f for f in findings if f["explained_by"] and f["explained_by"] not in known]
    yield from (_finding(0, f, [], opened=False) for f in lost)
    if not findings:
        yield tag("p", "Nothing was found.")
    yield "</section>\n"


def _finding(number: int, finding: Data, follow: list[Data], *, opened: bool) -> str:
    severity = finding["severity"]
    subject = finding["subject"]
    about = (
        ""
        if subject["id"] in ("-", "")
        else f' <span class="about">{text(subject["kind"])} {text(subject["id"])}</span>'
    )
    head = (
        f'<span class="badge {severity}">{_WORDS[severity]}</span> <span class="what">{f"{number}. " if number else ""}'
        f"{text(finding['summary'])}</span>{about}"
    )
    return folded(head, "".join(_inside(finding, follow)), opened=opened, kind=f"finding {severity}")


def _inside(finding: Data, follow: list[Data]) -> Iterator[str]:
    if finding["basis"] in _BASIS:
        yield tag("p", _BASIS[finding["basis"]], class_="basis")
    if finding["why"]:
        yield tag("p", prose(finding["why"]))
    yield from _evidence(finding["evidence"])
    many = len(finding["remedies"]) > 1
    if many:
        yield "<h3>Choose one</h3>\n"
    for letter, remedy in zip("ABCDEFGH", finding["remedies"], strict=False):
        yield _fix(remedy, letter if many else "")
    if finding["verify"]:
        yield "<h3>Check</h3>\n" + _command(finding["verify"])
    if finding["ask"]:
        yield tag("p", f"<strong>Please add:</strong> {prose(finding['ask'])}")
    if follow:
        rows = dict.fromkeys(f"<code>{text(f['rule'])}</code> {text(f['summary'])}" for f in follow)
        yield "<h3>This explains</h3>\n" + listed(rows)
    yield tag("p", f"<code>{text(finding['rule'])}</code> · <code>{text(finding['fingerprint'])}</code>", class_="ids")


def _evidence(rows: list[Data]) -> Iterator[str]:
    if not rows:
        return
    items = [f"<code>{text(row['text'])}</code> <small>{text(row['source'])}</small>" for row in rows]
    yield "<h3>Evidence</h3>\n" + listed(items[:_EVIDENCE])
    if items[_EVIDENCE:]:
        yield folded(f"{plural(len(items) - _EVIDENCE, 'more line')}", listed(items[_EVIDENCE:]))


def _command(argv: Iterable[str]) -> str:
    line = escape(shlex.join(clean(str(word)) for word in argv))
    return f'<pre tabindex="0"><code>{line}</code></pre>\n'


def _fix(remedy: Data, letter: str) -> str:
    notes = [remedy["scope"], *["root"] * remedy["root"], *["reboot"] * remedy["reboot"]]
    chips = "".join(f'<span class="chip">{escape(note)}</span> ' for note in notes)
    out = f"<h3>{f'{letter}. ' if letter else 'Fix '}{chips}</h3>\n" + tag("p", prose(remedy["title"]))
    for step in remedy["steps"]:
        if step["text"] != remedy["title"]:
            out += tag("p", prose(step["text"]))
        if step["command"]:
            out += _command(step["command"])
    if remedy["risk"]:
        out += tag("p", f"<strong>Risk:</strong> {prose(remedy['risk'])}")
    for step in remedy["undo"]:
        argv = shlex.join(clean(str(word)) for word in step["command"] or ())
        out += tag("p", f"<strong>Undo:</strong> {f'<code>{escape(argv)}</code>' if argv else prose(step['text'])}")
    return out


_HEADS = ("Name", "Arch", "Driver", "Memory", *(name.upper() for name in _INDEX), "Render", "NUMA")


def _gpus(data: Data) -> Iterator[str]:
    rows = list(data["snapshot"].get("gpus") or ())
    if not rows:
        return
    table = "<tr>" + "".join(f'<th scope="col">{head}</th>' for head in ("GPU", *_HEADS)) + "</tr>\n"
    table += "".join(_gpu(gpu) for gpu in rows)
    yield "<section aria-labelledby='gpus'>\n<h2 id='gpus'>GPUs</h2>\n"
    yield picture.topology(data["snapshot"], data["findings"])
    yield f'<div class="wide" role="region" aria-label="GPU numbers" tabindex="0"><table class="gpus">\n<caption>Numbers in each order; ? is unknown</caption>\n{table}</table></div>\n</section>\n'


def _gpu(gpu: Data) -> str:
    memory = gpu.get("memory_bytes")
    index = gpu.get("index") or {}
    cells = [gpu.get("name"), gpu.get("arch"), gpu.get("driver"), f"{memory / 2**30:.0f} GiB" if memory else None]
    cells += [index.get(name) for name in _INDEX] + [gpu.get("render_node"), gpu.get("numa_node")]
    rows = "".join(
        f'<td data-label="{head}">{"?" if cell is None else text(cell)}</td>'
        for head, cell in zip(_HEADS, cells, strict=True)
    )
    return f'<tr><th scope="row">{text(gpu.get("pci_address") or gpu.get("key") or "?")}</th>{rows}</tr>\n'


def _profile(profile: Data) -> Iterator[str]:
    yield "<section aria-labelledby='profile'>\n<h2 id='profile'>Profile</h2>\n"
    yield tag(
        "p",
        f"<code>{text(profile['name'])}</code> ({text(profile['status'])}, {text(profile['chosen'])}): {text(profile['why'])}",
    )
    for label, field in (("Differences", "deviates"), ("Not checked", "unknown"), ("As expected", "holds")):
        if profile[field]:
            yield folded(
                f"{label}: {len(profile[field])}",
                listed(text(row) for row in profile[field]),
                opened=field == "deviates",
            )
    yield "</section>\n"


def _rest(data: Data) -> Iterator[str]:
    inside = "".join(_beyond(data))
    if inside:
        yield f"<section aria-labelledby='rest'>\n<h2 id='rest'>Checks</h2>\n{inside}</section>\n"


def _beyond(data: Data) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for row in data["unchecked"]:
        reasons.setdefault("The check crashed" if row["crashed"] else str(row["reason"]), []).append(str(row["rule"]))
    if reasons:
        by_size = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
        rows = [
            f"{text(reason)}: {', '.join(f'<code>{text(rule)}</code>' for rule in rules)}" for reason, rules in by_size
        ]
        yield folded(f"{plural(len(data['unchecked']), 'check')} skipped", listed(rows))
    if data["suppressed"]:
        rows = [
            f"<code>{text(row['rule'])}</code> {text(row['reason'])} ({text(row['by'])})" for row in data["suppressed"]
        ]
        yield folded(f"{plural(len(rows), 'finding')} allowed by the allow-list", listed(rows))
    if data.get("knowledge"):
        notes = KnowledgeUsed.model_validate(data["knowledge"]).notes()
        yield from (f"<p>{text(note)}</p>\n" for note in notes)
    if data["clear"]:
        yield folded(
            f"{plural(len(data['clear']), 'check')} passed",
            listed(f"<code>{text(rule)}</code>" for rule in data["clear"]),
        )
