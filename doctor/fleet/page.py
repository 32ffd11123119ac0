"""A verdict -> one self-contained HTML page: the line, a matrix picture of kinds and areas, tables of what differs.

No script, no network; light and dark; names and values are text, escaped and without control characters.
"""

# ruff: noqa: E501 -- markup
from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from doctor.fleet.configuration import AREAS
from doctor.fleet.kinds import Kind
from doctor.fleet.text import by_reason, drain_commands, listed, meaning_of, names, problems, shown
from doctor.fleet.verdict import Verdict, one_line
from doctor.report.page import BOTTOM, top
from doctor.report.words import clean, plural

_CELL, _LEFT, _TOP = 22, 210, 92
_ROWS = 200
"""Groups of one kind that the picture has; the tables below say what it leaves out."""


def render(verdict: Verdict) -> str:
    first, _, rest = one_line(verdict).partition(". ")
    badge = "ok" if first == "Fleet: good" else "error" if "NOT good" in first else "warning"
    line = f'<p class="lead">{_text(rest)}</p>\n' if rest else ""
    head = f'<header>\n<h1><span class="badge {badge}">{_text(first)}</span></h1>\n{line}</header>\n<main id="main">\n'
    body = "".join([*_findings(verdict), *_kinds(verdict), *_silent(verdict), *_commands(verdict)])
    return top(escape(f"doctor: {one_line(verdict).split('.')[0].lower()}")) + head + body + BOTTOM


def _text(value: str) -> str:
    return escape(shown(value))


def _table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells are HTML."""
    labels = [escape(h) for h in heads]
    head = "".join(f'<th scope="col">{label}</th>' for label in labels)
    body = "".join(f"<tr>{''.join(map(_cell, row, labels))}</tr>\n" for row in rows)
    return (
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0"><table class="lists rows">\n<caption>{escape(caption)}</caption>\n'
        f"<tr class='head'>{head}</tr>\n{body}</table></div>\n"
    )


def _cell(cell: str, label: str) -> str:
    """A number or a badge takes no more room than it needs. A narrow window shows the column's name with each cell."""
    short = ' class="short"' if cell.isdecimal() or "badge" in cell else ""
    return f'<td{short} data-label="{label}">{cell}</td>'


def _findings(verdict: Verdict) -> Iterator[str]:
    rows = problems(verdict)
    yield "<section aria-labelledby='findings'>\n<h2 id='findings'>Findings</h2>\n"
    if not rows:
        yield "<p>Nothing was found.</p>\n"
    else:
        yield _table(
            "Findings by the number of nodes",
            ("Severity", "Rule", "Scope, action", "Nodes", "Which", "What"),
            (
                (
                    f'<span class="badge {problem.severity}">{problem.severity}</span>',
                    f"<code>{_text(problem.rule)}</code>",
                    meaning_of(problem.scope, problem.action) or "–",
                    str(len(nodes)),
                    f"<code>{escape(listed(verdict, nodes))}</code>",
                    _text(what),
                )
                for problem, what, nodes in rows
            ),
        )
    yield "</section>\n"


def _kinds(verdict: Verdict) -> Iterator[str]:
    for number, kind in enumerate(verdict.kinds):
        title = f"{kind.name}: {plural(len(kind.nodes), 'node')}, {plural(len(kind.groups), 'configuration')}"
        yield f"<section aria-labelledby='kind{number}'>\n<h2 id='kind{number}'>{_text(title)}</h2>\n"
        yield _matrix(verdict, kind)
        if kind.differences:
            rows = (
                (
                    *(
                        f"<code>{c}</code>"
                        for c in (escape(listed(verdict, d.nodes)), *map(_text, (d.fact, d.value, d.common)))
                    ),
                    meaning_of(*(word.value for word in d.meaning)),
                )
                for d in kind.differences
            )
            other = "Expected" if kind.golden or kind.profile else "Elsewhere"
            yield _table("Odd ones out", ("Nodes", "Fact", "There", other, "Scope, action"), rows)
        for division in kind.divisions:
            values = (
                (f"<code>{_text(v)}</code>", str(len(n)), f"<code>{escape(listed(verdict, n))}</code>")
                for v, n in division.values
            )
            yield _table(f"Divided: {shown(division.fact)}", ("Value", "Nodes", "Which"), values)
        if kind.varies:
            yield f"<p>Differs from node to node, and was not compared: {', '.join(map(_text, sorted(kind.varies)))}.</p>\n"
        yield "</section>\n"


def _areas(kind: Kind, group: list[int]) -> dict[str, str]:
    """Area -> how that group is in it: odd, divided; areas in which it is like the others are left out."""
    node, found = group[0], {}
    for division in kind.divisions:
        if any(node in nodes for _, nodes in division.values[1:]):
            found[division.fact.split(":")[0]] = "divided"
    for difference in kind.differences:
        if node in difference.nodes:
            found[difference.fact.split(":")[0]] = "odd"
    return found


def _matrix(verdict: Verdict, kind: Kind) -> str:
    """One row a group of equal nodes, one column an area. Shape and letter tell what colour tells."""
    groups = kind.groups[:_ROWS]
    errors = verdict.with_errors()
    columns = (*AREAS, "errors")
    width, height = _LEFT + _CELL * len(columns) + 10, _TOP + _CELL * len(groups) + 8
    odd = sum(bool(_areas(kind, g)) for g in groups)
    about = f"{plural(len(groups), 'group')} of equal nodes by area; {odd} differ from the common configuration"
    parts = [
        f'<svg class="matrix" role="img" aria-label="{_text(about)}" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
    ]
    for at, area in enumerate(columns):
        x = _LEFT + at * _CELL + 14
        parts.append(f'<text class="label" transform="translate({x} {_TOP - 8}) rotate(-60)">{escape(area)}</text>\n')
    for row, group in enumerate(groups):
        y = _TOP + row * _CELL
        name = listed(verdict, group)
        label = f"{len(group)}× {name if len(name) <= 26 else name[:25] + '…'}"
        parts.append(f'<text class="label" x="{_LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(label)}</text>\n')
        states = _areas(kind, group)
        if bad := sum(n in errors for n in group):
            states["errors"] = "odd" if bad == len(group) else "some"
        for at, area in enumerate(columns):
            state = states.get(area, "same")
            letter = {"odd": "×", "divided": "÷", "some": "!"}.get(state, "")
            title = f"{name[:80]}: {area}: {state if area != 'errors' else f'{bad} with errors'}"
            x = _LEFT + at * _CELL
            parts.append(
                f'<g class="cell {state}"><title>{escape(clean(title))}</title><rect x="{x}" y="{y}" width="{_CELL - 3}" height="{_CELL - 3}" rx="3"/>'
                f'<text x="{x + (_CELL - 3) / 2}" y="{y + 15}" text-anchor="middle">{letter}</text></g>\n'
            )
    rest = f"<figcaption>× differs from the common configuration or has errors, ! some nodes of the group have errors, ÷ the kind is divided{f'; {len(kind.groups) - _ROWS} more groups are in the tables' if len(kind.groups) > _ROWS else ''}</figcaption>"
    return f'<figure><div class="wide" role="region" aria-label="Matrix of groups and areas" tabindex="0">{"".join(parts)}</svg></div>{rest}</figure>\n'


def _silent(verdict: Verdict) -> Iterator[str]:
    rows = [(f"<code>{escape(names(nodes))}</code>", str(len(nodes)), _text(why)) for why, nodes in by_reason(verdict)]
    if rows:
        yield "<section aria-labelledby='silent'>\n<h2 id='silent'>No answer</h2>\n"
        yield _table("Nodes without a report", ("Which", "Nodes", "Why"), rows) + "</section>\n"
    if verdict.disagreements:
        yield "<section aria-labelledby='views'>\n<h2 id='views'>The scheduler says otherwise</h2>\n<ul>\n"
        yield "".join(f"<li>{_text(row)}</li>\n" for row in verdict.disagreements) + "</ul>\n</section>\n"


def _commands(verdict: Verdict) -> Iterator[str]:
    rows = drain_commands(verdict)
    if rows:
        yield "<section aria-labelledby='do'>\n<h2 id='do'>To keep jobs from these nodes</h2>\n"
        for line in rows:
            yield f'<pre tabindex="0"><code>{escape(line)}</code></pre>\n'
        yield "</section>\n"
