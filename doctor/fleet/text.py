"""A verdict as text for a terminal or a mail, as Markdown, and as data (`doctor.fleet/1`)."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from doctor.fleet.kinds import Kind
from doctor.fleet.names import folded, is_name
from doctor.fleet.tally import Problem
from doctor.fleet.verdict import STALE_S, Verdict, one_line
from doctor.redaction.secrets import masked
from doctor.report.words import clean, plural

_SEVERITIES = ("error", "warning", "info")
_WIDTH = 80
_MOST = 60
_OFFERED = 3
"""Differences of one kind that text shows; data has them all."""


def shown(value: str) -> str:
    """A value that came from a node: on one line, without control characters and secrets."""
    return masked(clean(value))


def listed(verdict: Verdict, nodes: Iterable[int]) -> str:
    return names(verdict.tally.nodes[node] for node in nodes)


def names(names: Iterable[str]) -> str:
    """Bracket form; names that no scheduler takes follow as they are."""
    all_names = list(names)
    odd = [shown(name) for name in all_names if not is_name(name)]
    return ", ".join(filter(None, [folded(all_names), *sorted(odd)[:20]]))


def problems(verdict: Verdict) -> list[tuple[Problem, str, tuple[int, ...]]]:
    """(problem, summary, nodes): errors first, then what most nodes have."""
    rows = [(problem, seen.summary, tuple(seen.nodes)) for problem, seen in verdict.tally.problems.items()]
    return sorted(rows, key=lambda r: (_SEVERITIES.index(r[0].severity), -len(r[2]), r[0].rule))


def meaning_of(scope: str | None, action: str | None) -> str:
    """`hardware, drain`"""
    return ", ".join(filter(None, (scope, action)))


def fit(line: str, then: str = "") -> list[str]:
    """Lines of at most 80 columns, where there are spaces to break at; those after the first begin with `then`."""
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)
    return textwrap.wrap(line, width, subsequent_indent=then, break_long_words=False, break_on_hyphens=False)


def render(verdict: Verdict) -> str:
    lines = [*fit(one_line(verdict)), ""]
    tally = verdict.tally
    rows = [row for row in problems(verdict) if row[0].severity != "info"]
    if rows:
        lines.append("Findings")
        for problem, summary, nodes in rows:
            lines += fit(f"  {problem.severity:<8} {shown(problem.rule)}: {plural(len(nodes), 'node')}", " " * 11)
            lines += fit(f"           {listed(verdict, nodes)}", " " * 11)
            about = meaning_of(problem.scope, problem.action)
            lines += fit(f"           {shown(summary)}{f' ({about})' if about else ''}", " " * 11)
        lines.append("")
    for kind in verdict.kinds:
        lines += [*_kind(verdict, kind), ""]
    if tally.silent:
        lines += ["No answer", *_silent(verdict), ""]
    if verdict.disagreements:
        rows_of = (fit(f"  {clean(row)}", "    ") for row in verdict.disagreements)
        lines += ["The scheduler says otherwise", *(line for row in rows_of for line in row), ""]
    if tally.twice:
        lines += [*fit(f"Reported more than once, the newest counts: {names(dict.fromkeys(tally.twice))}", "  "), ""]
    if ahead := tally.ahead():
        lines += [*fit(f"The clock is wrong, the report is from the future: {listed(verdict, ahead)}", "  "), ""]
    if verdict.golden_without_nodes:
        kinds = ", ".join(map(shown, verdict.golden_without_nodes))
        lines += [*fit(f"No node is of the kind of this golden report: {kinds}", "  "), ""]
    if facts := verdict.not_compared():
        lines.append("Expected by the profile, and not known")
        for fact, places in sorted(facts.items()):
            lines += fit(f"  {shown(fact)}: {listed(verdict, places)}", "    ")
        lines.append("")
    if stale := tally.stale(STALE_S):
        lines += [
            "Old reports",
            *(f"  {shown(tally.nodes[n])}: {_age(s)} older than the newest" for n, s in stale[:20]),
            "",
        ]
    if commands := drain_commands(verdict):
        lines += ["To keep jobs from these nodes", *(f"  {row}" for row in commands)]
    return "\n".join(lines).rstrip() + "\n"


def _kind(verdict: Verdict, kind: Kind) -> Iterator[str]:
    size = f"{plural(len(kind.nodes), 'node')}, {plural(len(kind.groups), 'configuration')}"
    yield from fit(f"{shown(kind.name)}: {size}, compared with {kind.measure()}", "  ")
    for number, group in enumerate(kind.groups[:8], 1):
        yield from fit(f"  group {number}: {plural(len(group), 'node')}: {listed(verdict, group)}", "    ")
    if len(kind.groups) > 8:
        yield f"  … {plural(len(kind.groups) - 8, 'more group')}"
    for difference in kind.differences[:_MOST]:
        fact, value, common = map(shown, (difference.fact, difference.value, difference.common))
        other = "expected" if kind.golden or kind.profile else "elsewhere"
        about = meaning_of(*(word.value for word in difference.meaning))
        line = f"  odd: {listed(verdict, difference.nodes)}: {fact} = {value}, {other} {common} ({about})"
        yield from fit(line, "    ")
    if len(kind.differences) > _MOST:
        yield f"  … {plural(len(kind.differences) - _MOST, 'more difference')} (--format json has them all)"
    if pairs := why_commands(verdict, kind):
        yield "  To see which of these matter:"
        yield from (f"    {row}" for row in pairs)
    for division in kind.divisions[:_MOST]:
        yield from fit(f"  divided: {shown(division.fact)}", "    ")
        for value, nodes in division.values[:8]:
            yield from fit(f"    {shown(value)}: {plural(len(nodes), 'node')}: {listed(verdict, nodes)}", "      ")
    if kind.varies:
        varies = ", ".join(shown(f) for f in sorted(kind.varies)[:20])
        yield from fit(f"  differs from node to node, not compared: {varies}", "    ")
    if kind.untold:
        most = max(kind.untold.values())
        many = plural(len(kind.untold), "fact")
        yield from fit(f"  {many} not known on some nodes (at most {most}), not compared there", "    ")


def by_reason(verdict: Verdict) -> list[tuple[str, list[str]]]:
    """Why nodes gave no report -> which; the most frequent reason first."""
    reasons: dict[str, list[str]] = {}
    for node, why in verdict.tally.silent.items():
        reasons.setdefault(why, []).append(node)
    return sorted(reasons.items(), key=lambda r: (-len(r[1]), r[0]))


def _silent(verdict: Verdict) -> Iterator[str]:
    for why, nodes in by_reason(verdict):
        yield from fit(f"  {names(nodes)}: {shown(why)}", "    ")


def _age(seconds: int) -> str:
    return plural(seconds // 86400, "day") if seconds >= 86400 else plural(seconds // 3600, "hour")


def drain_commands(verdict: Verdict) -> list[str]:
    """One for each reason; names that Slurm does not take are left out."""
    reasons = {reason: folded(nodes) for reason, nodes in verdict.to_drain().items()}
    return [
        f"scontrol update NodeName={nodes} State=DRAIN Reason={shlex.quote(f'doctor: {shown(reason)[:100]}')}"
        for reason, nodes in reasons.items()
        if nodes
    ]


def why_commands(verdict: Verdict, kind: Kind) -> list[str]:
    """`doctor why` of the first odd nodes against one as most are, by the files of their reports."""
    usual, folder = kind.usual(), verdict.folder
    if usual is None or folder is None:
        return []
    nodes = verdict.tally.nodes
    files = [folder / f"{nodes[node]}.json" for node in (usual, *sorted(kind.odd())[:_OFFERED])]
    if not files[0].is_file():
        return []
    return [shlex.join(("doctor", "why", str(files[0]), str(file))) for file in files[1:] if file.is_file()]


def markdown(verdict: Verdict) -> str:
    """The same as sections and tables, for a ticket or a chat."""
    from doctor.report.formats.markdown import cell, code, inert

    lines = [f"# {inert(one_line(verdict))}", ""]
    rows = [row for row in problems(verdict) if row[0].severity != "info"]
    if rows:
        lines += ["| severity | rule | scope, action | nodes | which | what |", "|--|--|--|--|--|--|"]
        for problem, summary, nodes in rows:
            which, about = cell(listed(verdict, nodes)), meaning_of(problem.scope, problem.action) or "–"
            first = f"{problem.severity} | {cell(shown(problem.rule))} | {about}"
            lines.append(f"| {first} | {len(nodes)} | {which} | {inert(shown(summary), in_table=True)} |")
        lines.append("")
    for kind in verdict.kinds:
        lines += [f"## {inert(shown(kind.name))}: {plural(len(kind.nodes), 'node')}", ""]
        if kind.differences:
            other = "expected" if kind.golden or kind.profile else "elsewhere"
            lines += [f"| odd nodes | fact | is | {other} | scope, action |", "|--|--|--|--|--|"]
        for d in kind.differences[:_MOST]:
            cells = (listed(verdict, d.nodes), shown(d.fact), shown(d.value), shown(d.common))
            about = meaning_of(*(word.value for word in d.meaning))
            lines.append(f"| {' | '.join(map(cell, cells))} | {about} |")
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
        "good": verdict.good(),
        "nodes": len(tally.nodes) + len(tally.silent),
        "bad": {"count": len(bad), "nodes": names(bad)},
        "drain": [{"reason": shown(reason), "nodes": names(n)} for reason, n in verdict.to_drain().items()],
        "unchecked": {layer: listed(verdict, nodes) for layer, nodes in tally.unchecked().items()},
        "stale": names(tally.nodes[n] for n, _ in tally.stale(STALE_S)),
        "ahead": listed(verdict, tally.ahead()),
        "profile": verdict.profile(),
        "not_compared": {shown(f): listed(verdict, n) for f, n in sorted(verdict.not_compared().items())},
        "golden_without_nodes": [shown(name) for name in verdict.golden_without_nodes],
        "findings": [
            {
                "rule": shown(problem.rule),
                "severity": problem.severity,
                "scope": problem.scope,
                "action": problem.action,
                "drains": problem.drains,
                "summary": shown(what),
                "count": len(n),
                "nodes": listed(verdict, n),
            }
            for problem, what, n in problems(verdict)
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
        "golden": kind.golden,
        "profile": kind.profile,
        "common": {shown(fact): shown(value) for fact, value in sorted(kind.common.items())},
        "groups": [{"count": len(g), "nodes": listed(verdict, g)} for g in kind.groups],
        "odd": [
            {
                "nodes": listed(verdict, d.nodes),
                "count": len(d.nodes),
                "fact": shown(d.fact),
                "value": shown(d.value),
                "common": shown(d.common),
                "scope": d.meaning[0].value,
                "action": d.meaning[1].value,
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
