"""What changed between two fleet reports, in a few lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.fleet.changes import Changes, by_reason
from doctor.fleet.text import fit, names, shown
from doctor.report.words import plural

_MOST = 20
"""Lines of one part; data has them all."""


def render(changes: Changes) -> str:
    if not changes.any():
        return "Fleet: no change.\n"
    verdict = "something got worse" if changes.worse() else "nothing got worse"
    counts = [
        f"{plural(len(nodes), 'node')} {what}"
        for nodes, what in ((changes.newly_bad, "newly bad"), (changes.newly_good, "newly good"))
        if nodes
    ]
    lines = fit(f"Fleet: {verdict}{'; ' if counts else ''}{', '.join(counts)}.")
    for title, rows in _parts(changes):
        if rows:
            lines += ["", title, *(line for row in rows[:_MOST] for line in fit(f"  {row}", "    "))]
        if len(rows) > _MOST:
            lines.append(f"  … {len(rows) - _MOST} more (--format json has them all)")
    return "\n".join(lines) + "\n"


def _parts(changes: Changes) -> Iterator[tuple[str, list[str]]]:
    yield "Newly bad", [f"{names(nodes)}: {shown(why)}" for why, nodes in by_reason(changes)]
    for title, nodes in (
        ("Newly good", changes.newly_good),
        ("Reported before, and not now", changes.missing),
        ("Reported for the first time", changes.added),
    ):
        yield title, [names(nodes)] if nodes else []
    for title, rules in (("New findings", changes.new), ("Findings that are gone", changes.gone)):
        yield title, [f"{severity} {shown(rule)}: {names(nodes)}" for (severity, rule), nodes in rules.items()]
    rows = changes.configuration
    yield "Configuration of most nodes", [f"{shown(k)}: {shown(f)}: {shown(a)} -> {shown(b)}" for k, f, a, b in rows]
