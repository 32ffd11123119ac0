"""What `doctor why` prints: the differences that explain a failure first, each with its reason and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from doctor.facts.labels import label
from doctor.why.differences import Difference
from doctor.why.ranking import Explained, Why

_SHOWN = 10
_WIDEST = 100


def render(found: Why, names: tuple[str, str], *, verbose: bool = False) -> str:
    """For people. `names` are GOOD and BAD as they were given."""
    return _printable("\n".join(_lines(found, names, verbose)) + "\n")


def as_data(found: Why, names: tuple[str, str]) -> dict[str, Any]:
    """`doctor.why/1`."""
    return {
        "schema": "doctor.why/1",
        "good": names[0],
        "bad": names[1],
        "explained": [
            {
                "rule": one.finding.rule,
                "fingerprint": one.finding.fingerprint,
                "severity": one.finding.severity.value,
                "summary": one.finding.summary,
                "by": [_row(d) for d in one.by],
            }
            for one in found.explained
        ],
        "suspected": [_row(d) for d in found.suspected],
        "stack": [_row(d) for d in found.stack],
        "rest": [_row(d) for d in found.rest],
        "good_fails_too": [{"rule": f.rule, "summary": f.summary} for f in found.shared],
    }


def _lines(found: Why, names: tuple[str, str], verbose: bool) -> Iterator[str]:
    if not found.ranked:
        yield f"{names[0]} and {names[1]} do not differ in anything that doctor reads."
        return
    for shared in found.shared:
        yield f"! {names[0]} fails too: {shared.summary} ({shared.rule})"
    by_cause: dict[tuple[Difference, ...], list[Explained]] = {}
    for one in found.explained:
        by_cause.setdefault(one.by, []).append(one)
    left = by_cause.pop((), [])
    for number, (cause, effects) in enumerate(by_cause.items(), 1):
        yield f"{number}. {' and '.join(map(_change, cause))}"
        for effect in effects:
            yield f"     Explains: {effect.finding.summary}  {effect.finding.rule}"
        if remedy := next((r for e in effects for r in e.finding.remedies), None):
            yield f"     Try: {remedy.title}"
    for one in left:
        yield f"! No difference explains: {one.finding.summary}  {one.finding.rule}"
    if not found.explained:
        yield f"No check fails on {names[1]} that passes on {names[0]}."
    rows = [("A suspected check reads", found.suspected), ("Differences of the GPU stack", found.stack)]
    for title, some in rows:
        if some:
            yield f"\n{title}:"
            yield from (f"  {_change(d)}" for d in (some if verbose else some[:_SHOWN]))
            if len(some) > _SHOWN and not verbose:
                yield f"  and {len(some) - _SHOWN} more (-v)"
    if found.rest:
        if verbose:
            yield "\nNothing that doctor checks depends on:"
            yield from (f"  {_change(d)}" for d in found.rest)
        else:
            number = len(found.rest)
            yield f"\n{number} more difference{'s' * (number > 1)} that nothing here depends on (-v)"


def _change(one: Difference) -> str:
    """`NCCL_P2P_DISABLE: not set there, 1 here`, the values as short as they differ."""
    good, bad = _sides(one.good, one.bad)
    none = "not set" if one.name.startswith("environment[") else "not installed"
    name = one.name[9:-1] if one.name.startswith("packages[") else label(one.name)
    return f"{name}: {good or none} there, {bad or none} here"


def _sides(good: Any, bad: Any) -> tuple[str, str]:
    """Of two facts with fields only the fields that differ."""
    if isinstance(good, dict) and isinstance(bad, dict):
        one, other = (", ".join(f"{k} {_short(side.get(k))}" for k in list(good)[:3]) for side in (good, bad))
        return _short(one), _short(other)
    if isinstance(good, list) and isinstance(bad, list):
        return _short([m for m in good if m not in bad]) or "less", _short([m for m in bad if m not in good]) or "less"
    return _short(good), _short(bad)


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = "; ".join(_short(member) for member in value[:2]) + (" …" if len(value) > 2 else "")
    if isinstance(value, dict):
        value = " ".join(str(v) for v in value.values() if not isinstance(v, (dict, list)))
    text = str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _row(one: Difference) -> dict[str, Any]:
    return {**asdict(one), "layer": one.layer.value}


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
