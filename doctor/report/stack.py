"""Every part of the GPU stack that is judged: how it is found, against what it is judged, and by which rule.

`PARTS` is the one list: `doctor stack` prints what is here of it, docs/stack.md is made from it, and
tests/report/test_stack.py holds an example of each verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.findings import Finding, Report
from doctor.report.stack_parts import PARTS, Part

_NAME = re.compile(r"[-_.]+")


class Verdict(NamedTuple):
    """`state`: `no fault`, `fault`, `unknown`. `text` is the finding's, or why it is not known; `severity` is
    that of the fault."""

    against: str
    rule: str
    state: str
    text: str = ""
    severity: str | None = None


class Found(NamedTuple):
    """A part that is here, with its releases and places."""

    part: Part
    where: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...]


def found(report: Report) -> Iterator[Found]:
    """Parts that are here, in the order of the list."""
    for part in PARTS:
        where = tuple(dict.fromkeys(_where(report, part)))
        if where:
            yield Found(part, where, tuple(_verdicts(report, part)))


def _where(report: Report, part: Part) -> Iterator[tuple[str, str]]:
    """(version, place) of a part."""
    machine = report.snapshot
    for package in machine.packages or ():
        if any(re.fullmatch(pattern, package.name) for pattern in part.packages):
            yield package.version, f"{package.name} in {package.location or '?'}"
    if (
        "torch" in part.packages
        and machine.torch.version
        and not any(p.name == "torch" for p in machine.packages or ())
    ):
        yield machine.torch.version, machine.torch.location or "?"
    for tool in machine.tools or ():
        if tool.name in part.tools:
            yield tool.version or "?", tool.key
    for install in (*(machine.cuda or ()), *(machine.rocm or ())):
        for component in part.components:
            if version := (install.components or {}).get(component):
                yield version, install.path
    bundled = machine.torch.bundled or {}
    for component in part.components:
        if version := bundled.get(component):
            yield version, f"with torch in {machine.torch.location or '?'}"


def _verdicts(report: Report, part: Part) -> Iterator[Verdict]:
    for against, rule in part.judged:
        mine = next((f for f in report.findings if f.rule == rule and _about(f, part)), None)
        unchecked = next((u for u in report.unchecked if u.rule == rule), None)
        if mine:
            yield Verdict(against, rule, "fault", mine.summary, mine.severity.value)
        elif unchecked:
            yield Verdict(against, rule, "unknown", unchecked.reason)
        elif rule in report.clear or any(f.rule == rule for f in report.findings):
            yield Verdict(against, rule, "no fault")
        else:
            yield Verdict(against, rule, "unknown", "not checked here")


def _about(finding: Finding, part: Part) -> bool:
    """By its subject, or by the package that its words name; a subject that is no package, library or tool (a GPU, a
    variable, a compiler) mentions every part that the rule judges."""
    words = finding.subject.id.split() or [""]
    kind = finding.subject.kind
    if kind == "tool":
        return words[0] in part.tools or (words[0] == "CUDA" and bool(part.components))
    if kind not in ("package", "library"):
        return True
    if kind == "library" and (
        words[0].startswith(part.libraries or ("?",)) or words[0].split("-")[0] in part.components
    ):
        return True
    named = [words[0], *finding.summary.split(), *(w for e in finding.evidence for w in e.text.split())]
    names = {_NAME.sub("-", word.strip(",;:.").lower()) for word in named}
    return any(re.fullmatch(pattern, name) for pattern in (*part.packages, *part.subjects) for name in names)


def text(report: Report) -> str:
    """For people: one paragraph a part."""
    lines: list[str] = []
    for each in found(report):
        versions = ", ".join(f"{version} ({place})" for version, place in each.where[:6])
        lines.append(f"{each.part.name}: {versions}")
        for verdict in each.verdicts:
            phrase = {"no fault": "no fault found", "fault": verdict.text, "unknown": f"not known: {verdict.text}"}
            lines.append(f"  against {verdict.against}: {phrase[verdict.state]} [{verdict.rule}]")
        if each.part.note:
            lines.append(f"  {each.part.note}")
    return "\n".join(lines) + "\n" if lines else "Nothing of the GPU stack was found.\n"


def rows(report: Report) -> list[dict[str, object]]:
    return [
        {
            "part": each.part.name,
            "kind": each.part.kind,
            "found": [{"version": version, "place": place} for version, place in each.where],
            "verdicts": [verdict._asdict() for verdict in each.verdicts],
        }
        for each in found(report)
    ]


def redacted(report: Report) -> list[dict[str, object]]:
    """`rows` without names, ids and secrets of this machine."""
    from doctor.report.key import redactor_for

    redactor = redactor_for(report)
    redactor.learn(report.model_dump(mode="json", by_alias=True))
    masked: list[dict[str, object]] = redactor.again(redactor.data(rows(report)))
    return masked


def table() -> str:
    """The rows of docs/stack.md."""
    lines = ["| Part | Found by | Judged against |", "|---|---|---|"]
    for part in PARTS:
        by = [*(f"package `{_plain(p)}`" for p in part.packages), *(f"`{t}`" for t in part.tools)]
        by += ["installations' files and headers, torch's own copies"] if part.components else []
        against = [f"{what} ([{rule}](rules-catalogue.md#{rule}))" for what, rule in part.judged]
        lines.append(f"| {part.name} | {', '.join(by)} | {'; '.join(against)}{'. ' + part.note if part.note else ''} |")
    return "\n".join(lines) + "\n"


def _plain(pattern: str) -> str:
    """A pattern as somebody would write it in a list of names."""
    for form, shown in (
        (r"[\d-]+", "N"),
        (r"\d+", "N"),
        (r"\d", "N"),
        ("(", "["),
        (")?", "]"),
        (")", "]"),
        ("|", ", "),
    ):
        pattern = pattern.replace(form, shown)
    return pattern
