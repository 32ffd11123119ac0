"""A verdict as text for a terminal or a mail, as Markdown, and as data (`doctor.fleet/1`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from doctor.fleet.names import folded, is_name
from doctor.fleet.verdict import Kind, Verdict, one_line
from doctor.redaction.secrets import masked
from doctor.report.words import clean, plural

_SEVERITIES = ("error", "warning", "info")
_MOST = 60
"""Differences of one kind that text shows; data has them all."""


def shown(value: str) -> str:
    """A value that came from a node: on one line, without control characters and secrets."""
    return masked(clean(value))


def listed(verdict: Verdict, nodes: Iterable[int]) -> str:
    return names(verdict.tally.nodes[node] for node in nodes)


def names(names: Iterable[str]) -> str:
    """Bracket form; names that no scheduler takes stand behind it as they are."""
    all_names = list(names)
    odd = [shown(name) for name in all_names if not is_name(name)]
    return ", ".join(filter(None, [folded(all_names), *sorted(odd)[:20]]))


def problems(verdict: Verdict) -> list[tuple[str, str, str, tuple[int, ...]]]:
    """(severity, rule, summary, nodes): errors first, then what most nodes have."""
    rows = [(p.severity, p.rule, s.summary, tuple(s.nodes)) for p, s in verdict.tally.problems.items()]
    rank = {severity: number for number, severity in enumerate(_SEVERITIES)}
    return sorted(rows, key=lambda r: (rank.get(r[0], 9), -len(r[3]), r[1]))


def render(verdict: Verdict) -> str:
    lines = [one_line(verdict), ""]
    tally = verdict.tally
    rows = [row for row in problems(verdict) if row[0] != "info"]
    if rows:
        lines.append("Findings")
        for severity, rule, summary, nodes in rows:
            lines.append(f"  {severity:<8} {shown(rule)}: {plural(len(nodes), 'node')}: {listed(verdict, nodes)}")
            lines.append(f"           {shown(summary)}")
        lines.append("")
    for kind in verdict.kinds:
        lines += [*_kind(verdict, kind), ""]
    if tally.silent:
        lines += ["No answer", *_silent(verdict), ""]
    if verdict.disagreements:
        lines += ["The scheduler says otherwise", *(f"  {clean(row)}" for row in verdict.disagreements), ""]
    if tally.twice:
        lines += [f"Reported twice, the first report counts: {names(tally.twice)}", ""]
    lines += _commands(verdict)
    return "\n".join(lines).rstrip() + "\n"


def _kind(verdict: Verdict, kind: Kind) -> Iterator[str]:
    yield f"{shown(kind.name)}: {plural(len(kind.nodes), 'node')}, {plural(len(kind.groups), 'configuration')}"
    for number, group in enumerate(kind.groups[:8], 1):
        yield f"  group {number}: {plural(len(group), 'node')}: {listed(verdict, group)}"
    if len(kind.groups) > 8:
        yield f"  … {plural(len(kind.groups) - 8, 'more group')}"
    for difference in kind.differences[:_MOST]:
        fact, value, common = map(shown, (difference.fact, difference.value, difference.common))
        yield f"  odd: {listed(verdict, difference.nodes)}: {fact} is {value}, elsewhere {common}"
    if len(kind.differences) > _MOST:
        yield f"  … {plural(len(kind.differences) - _MOST, 'more difference')} (--format json has them all)"
    for division in kind.divisions[:_MOST]:
        yield f"  divided: {shown(division.fact)}"
        for value, nodes in division.values[:8]:
            yield f"    {shown(value)}: {plural(len(nodes), 'node')}: {listed(verdict, nodes)}"
    if kind.varies:
        yield f"  differs from node to node, not compared: {', '.join(shown(f) for f in sorted(kind.varies)[:20])}"
    if kind.untold:
        most = max(kind.untold.values())
        yield f"  {plural(len(kind.untold), 'fact')} not known on some nodes (at most {most}), not compared there"


def by_reason(verdict: Verdict) -> list[tuple[str, list[str]]]:
    """Why nodes gave no report -> which; the most frequent reason first."""
    reasons: dict[str, list[str]] = {}
    for node, why in verdict.tally.silent.items():
        reasons.setdefault(why, []).append(node)
    return sorted(reasons.items(), key=lambda r: (-len(r[1]), r[0]))


def _silent(verdict: Verdict) -> Iterator[str]:
    for why, nodes in by_reason(verdict):
        yield f"  {names(nodes)}: {shown(why)}"


def _commands(verdict: Verdict) -> Iterator[str]:
    bad = folded(verdict.bad())
    if bad:
        yield "To keep jobs from these nodes"
        yield f"  sbatch --exclude={bad} …"
        yield f"  scontrol update NodeName={bad} State=DRAIN Reason=doctor"


def markdown(verdict: Verdict) -> str:
    """The same as sections and tables, for a ticket or a chat."""
    from doctor.report.markdown import cell, code, inert

    lines = [f"# {inert(one_line(verdict))}", ""]
    rows = [row for row in problems(verdict) if row[0] != "info"]
    if rows:
        lines += ["| severity | rule | nodes | which | what |", "|--|--|--|--|--|"]
        for severity, rule, summary, nodes in rows:
            which = cell(listed(verdict, nodes))
            lines.append(f"| {severity} | {cell(shown(rule))} | {len(nodes)} | {which} | {inert(shown(summary))} |")
        lines.append("")
    for kind in verdict.kinds:
        lines += [f"## {inert(shown(kind.name))}: {plural(len(kind.nodes), 'node')}", ""]
        if kind.differences:
            lines += ["| odd nodes | fact | is | elsewhere |", "|--|--|--|--|"]
        for d in kind.differences[:_MOST]:
            cells = (listed(verdict, d.nodes), shown(d.fact), shown(d.value), shown(d.common))
            lines.append(f"| {' | '.join(map(cell, cells))} |")
        lines.append("")
    for why, silent in by_reason(verdict):
        lines.append(f"- no answer: {code(names(silent))}: {inert(shown(why))}")
    lines += [f"- {inert(clean(row))}" for row in verdict.disagreements]
    return "\n".join(lines).rstrip() + "\n"


def as_data(verdict: Verdict) -> dict[str, Any]:
    """`doctor.fleet/1`. `nodes` are lists in bracket form."""
    tally = verdict.tally
    bad = verdict.bad()
    return {
        "schema": "doctor.fleet/1",
        "verdict": one_line(verdict),
        "good": not (bad or verdict.disagreements or verdict.divided()),
        "nodes": len(tally.nodes) + len(tally.silent),
        "bad": {"count": len(bad), "nodes": names(bad)},
        "findings": [
            {
                "rule": shown(rule),
                "severity": severity,
                "summary": shown(what),
                "count": len(n),
                "nodes": listed(verdict, n),
            }
            for severity, rule, what, n in problems(verdict)
        ],
        "kinds": [_kind_data(verdict, kind) for kind in verdict.kinds],
        "silent": [
            {"nodes": names(silent), "count": len(silent), "reason": shown(why)} for why, silent in by_reason(verdict)
        ],
        "disagreements": [clean(row) for row in verdict.disagreements],
        "twice": names(tally.twice),
    }


def _kind_data(verdict: Verdict, kind: Kind) -> dict[str, Any]:
    return {
        "kind": shown(kind.name),
        "count": len(kind.nodes),
        "groups": [{"count": len(g), "nodes": listed(verdict, g)} for g in kind.groups],
        "odd": [
            {
                "nodes": listed(verdict, d.nodes),
                "count": len(d.nodes),
                "fact": shown(d.fact),
                "value": shown(d.value),
                "common": shown(d.common),
            }
            for d in kind.differences
        ],
        "divided": [
            {"fact": shown(d.fact), "values": [{"value": shown(v), "nodes": listed(verdict, n)} for v, n in d.values]}
            for d in kind.divisions
        ],
        "varies": sorted(map(shown, kind.varies)),
        "unknown": dict(sorted(kind.untold.items())),
    }
