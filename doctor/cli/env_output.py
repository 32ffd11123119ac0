"""What `doctor env` prints: findings with their places, variables as they are read, recommended sets; text or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.files import Looked
    from doctor.flags.recommend import Advice


def rendered(looked: Sequence[Looked], format_: str, *, verbose: bool) -> str:
    if format_ in ("sarif", "github"):
        from doctor.cli import env_places

        return (env_places.sarif if format_ == "sarif" else env_places.github)(looked)
    if format_ == "json":
        return json.dumps({"schema": "doctor.env/1", "environments": [_object(one) for one in looked]}, indent=1) + "\n"
    return _joined(line for one in looked for line in _lines(one, verbose=verbose))


def _joined(lines: Iterable[str]) -> str:
    """Lines without what a terminal would obey."""
    from doctor.report.words import clean

    return "".join(f"{clean(line)}\n" for line in lines)


def _object(one: Looked) -> dict[str, Any]:
    return {
        "source": one.source,
        "findings": [f.model_dump(mode="json", exclude_none=True) for f in one.findings],
        "variables": [dict(row) for row in _variables(one)],
        "notes": list(one.notes),
    }


def _variables(one: Looked) -> Iterator[dict[str, Any]]:
    """Each variable of the stack that is set: who reads it, what for, its default and effect."""
    from doctor.flags import grammars
    from doctor.flags.names import described, grammar_of

    for name, value in one.situation.env.items():
        flags = described(name)
        if not flags:
            continue
        reading = grammars.read(grammar_of(name), value)
        yield {
            "name": name,
            "value": value,
            "where": one.places.get(name, "environment"),
            "read_by": sorted({str(flag["component"]) for flag in flags}),
            "reads_as": reading.value if reading else None,
            "state": reading.state if reading else "not checked",
            "default": flags[0].get("default"),
            "effect": flags[0]["effect"],
        }


def _lines(one: Looked, *, verbose: bool) -> Iterator[str]:
    from doctor.report.words import plural

    rows = list(_variables(one))
    counts = [sum(f.severity.value == level for f in one.findings) for level in ("error", "warning", "info")]
    summary = ", ".join(
        plural(count, word) for count, word in zip(counts, ("error", "warning", "note"), strict=True) if count
    )
    yield f"{one.source}: {plural(len(rows), 'variable')} of the GPU stack; {summary or 'no problem found'}"
    yield from (f"note: {' '.join(note.split())}" for note in one.notes)
    yield from (_finding(finding, one.source) for finding in one.findings)
    if verbose:
        yield ""
        for row in rows:
            default = f"; default {row['default']}" if row["default"] else ""
            read = (
                ""
                if row["state"] == "taken"
                else " (parsing not checked)"
                if row["state"] == "not checked"
                else f" ({row['state']}: reads as {row['reads_as']})"
            )
            yield f"  {row['name']}={row['value'][:60]}{read}"
            yield f"      {', '.join(row['read_by'])}: {' '.join(row['effect'].split())}{default}"
    elif rows:
        yield "-v describes each variable: its default and its effect."


def _finding(finding: Finding, source: str) -> str:
    """`file:line:column: warning: what. What to do. [rule: ids]`, on one line."""
    from doctor.flags.places import ids, place

    found = place(finding)
    where = f"{found[0]}:{found[1]}:{found[2]}" if found else source
    fixes = " ".join(remedy.title for remedy in finding.remedies[:2])
    named = ": ".join((finding.rule, *ids(finding)[:1]))
    return f"{where}: {finding.severity.value}: {' '.join(f'{finding.summary} {fixes}'.split())} [{named}]"


def advised(advice: Advice, workload: str, format_: str) -> str:
    """The lines to set, each after its reason; JSON with the same and what was left out."""
    if format_ == "json":
        made = {
            "schema": "doctor.env-advice/1",
            "workload": workload,
            "sets": list(advice.sets),
            "set": [line._asdict() for line in advice.lines],
            "left_out": [row._asdict() for row in advice.left_out],
            "in_a_case": [{"when": when, "set": text} for when, text in advice.conditional],
            "other_sets": [{"for": what, "set": text, "id": name} for what, text, name in advice.others],
        }
        return json.dumps(made, indent=1) + "\n"
    return _joined(_advised(advice, workload))


def _advised(advice: Advice, workload: str) -> Iterator[str]:
    import shlex

    if not advice.sets and not advice.lines:
        yield f"# No vendor guide recommends variables to {workload} on this GPU and version. Set none."
        yield from _other_sets(advice)
        return
    yield f"# To {workload} on this GPU, from {', '.join(advice.sets) or 'what was checked'}."
    if not advice.lines:
        yield "# The guide recommends no variable for this GPU and version."
    for line in advice.lines:
        yield f"# {line.why} [{line.set_id}; {line.source.split(';')[0][:120]}]"
        yield f"export {line.name}={shlex.quote(line.value)}"
    for when, text in advice.conditional:
        yield f"# For {when}: {text}"
    for row in advice.left_out:
        yield f"# Left out: {row.name}={row.value}: {row.why[:160]}"
    yield from _other_sets(advice)


def _other_sets(advice: Advice) -> Iterator[str]:
    for what, text, name in advice.others:
        yield f"# Only for: {what} [{name}]: {text}"
