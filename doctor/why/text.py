"""What `doctor why` prints: the differences that explain a failure first, each with its reason and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from shlex import quote
from typing import Any

from doctor.compare import flat
from doctor.engine.verdict import unread_line
from doctor.facts.labels import label
from doctor.findings import Finding
from doctor.redaction.secrets import MASK
from doctor.why.differences import PSEUDONYM, Difference
from doctor.why.ranking import Explained, Why

_SHOWN = 10
_WIDEST = 100
_TRIED = 3
"""Differences of a list for which a command to try is printed."""


def render(found: Why, names: tuple[str, str], *, verbose: bool = False) -> str:
    """For people. `names` are GOOD and BAD as they were given."""
    text = "\n".join(_lines(found, names, verbose)) + "\n"
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def as_data(found: Why, names: tuple[str, str]) -> dict[str, Any]:
    """`doctor.why-comparison/1`."""
    return {
        "schema": "doctor.why-comparison/1",
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
        "named": [{**_row(d), "reason": found.reasons[d.name]} for d in found.named],
        "suspected": [{**_row(d), "reason": found.reasons[d.name]} for d in found.suspected],
        "stack": [_row(d) for d in found.stack],
        "rest": [_row(d) for d in found.rest],
        "not_known": {
            name: {layer.value: state for layer, state in side.items()}
            for name, side in zip(("good", "bad"), found.unread, strict=True)
        },
        "keys_differ": found.keys_differ,
        "good_fails_too": [{"rule": f.rule, "summary": f.summary} for f in found.shared],
    }


def _lines(found: Why, names: tuple[str, str], verbose: bool) -> Iterator[str]:
    for shared in found.shared:
        yield f"! {names[0]} fails too: {shared.summary} ({shared.rule})"
    for name, states in zip(names, found.unread, strict=True):
        if line := unread_line(name, states):
            yield f"? {line}"
    if found.keys_differ:
        yield "? Redacted with different keys: names of hosts, users and paths are not compared."
    if not found.comparable:
        yield "Nothing is known of both, so there is nothing to compare."
    elif found.symptom.text and not found.is_pointed_to:
        yield "? The error message points to none of the differences."
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
        yield f"! {_unexplained(one.finding, found, names)}"
    if found.comparable and not found.ranked:
        yield f"What is known of both {names[0]} and {names[1]} does not differ."
    elif found.comparable and not found.explained:
        yield f"No check fails on {names[1]} that passes on {names[0]}."
    rows = [
        ("The error message names", found.named),
        ("Worth trying", found.suspected),
        ("Differences of the GPU stack", found.stack),
    ]
    for title, some in rows:
        if some:
            yield f"\n{title}:"
            for place, d in enumerate(some if verbose else some[:_SHOWN]):
                reason = found.reasons.get(d.name)
                yield f"  {_change(d)}" + (f"  ({reason})" if reason else "")
                if place < _TRIED and reason is not None and (attempt := _attempt(d)):
                    yield f"    Try: {attempt}"
            if len(some) > _SHOWN and not verbose:
                yield f"  and {len(some) - _SHOWN} more (-v)"
    if found.rest:
        if verbose:
            yield "\nNothing points to these:"
            yield from (f"  {_change(d)}" for d in found.rest)
        else:
            number = len(found.rest)
            yield f"\n{number} more difference{'s' * (number > 1)}, which nothing points to (-v)"


def _unexplained(finding: Finding, found: Why, names: tuple[str, str]) -> str:
    if finding.rule not in found.checked:
        return f"Fails on {names[1]}, and {names[0]} could not be checked for it: {finding.summary}  {finding.rule}"
    return f"No difference explains: {finding.summary}  {finding.rule}"


def _attempt(one: Difference) -> str:
    """A command that puts GOOD's value in the place of BAD's; empty where there is none, or it could not be typed: a
    value is masked, long or not printable, or no default index has the local build of a release (`2.9.1+cu128`)."""
    head, _, member = one.name.removesuffix("]").partition("[")
    good = "" if one.good is None else str(one.good)
    if len(good) > _WIDEST or not good.isprintable() or MASK in good or PSEUDONYM.search(good) or " (build " in good:
        return ""
    if head == "environment":
        return f"env -u {quote(member)} COMMAND" if one.good is None else f"env {quote(f'{member}={good}')} COMMAND"
    if head != "packages" or "+" in good:
        return ""
    return f"python -m pip install {quote(f'{member}=={good}')}" if good else f"python -m pip uninstall {quote(member)}"


def _change(one: Difference) -> str:
    """`NCCL_P2P_DISABLE: not set there, 1 here`, the values as short as they differ."""
    none = "not set" if one.name.startswith("environment[") else "not installed"
    name = one.name[9:-1] if one.name.startswith("packages[") else label(one.name)
    good, bad = (none if side is None else _short(side) for side in _sides(one.good, one.bad))
    if good == bad:
        good, bad = _deep(one.good, one.bad)
    return f"{name}: {good} there, {bad} here"


def _sides(good: Any, bad: Any) -> tuple[Any, Any]:
    """Of two facts with fields the first fields that differ, of two lists the members that the other lacks."""
    if isinstance(good, dict) and isinstance(bad, dict):
        pairs = [(key, *_sides(good[key], bad.get(key))) for key in list(good)[:3]]
        one, other = (", ".join(f"{row[0]} {_short(row[side])}" for row in pairs) for side in (1, 2))
        return one, other
    if isinstance(good, (list, tuple)) and isinstance(bad, (list, tuple)):
        mine, theirs = ([m for m in side if m not in rest] for side, rest in ((good, bad), (bad, good)))
        return mine or ("fewer" if good else []), theirs or ("fewer" if bad else [])
    return good, bad


def _deep(good: Any, bad: Any) -> tuple[str, str]:
    """Where both look alike in a few words: the first field that differs, however deep it lies."""
    one, other = (dict(flat(side, "")) for side in (good, bad))
    name = next((name for name in {**one, **other} if one.get(name) != other.get(name)), "")
    return f"{name} {_short(one.get(name))}", f"{name} {_short(other.get(name))}"


def _short(value: Any) -> str:
    """A value in a few words; one that is empty says so."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        value = "; ".join(_short(member) for member in value[:2]) + (" …" if len(value) > 2 else "") or "none"
    if isinstance(value, dict):
        plain = [(k, v) for k, v in value.items() if not isinstance(v, (dict, list))]
        value = " ".join(f"{k} {_short(v)}" if isinstance(v, bool) else _short(v) for k, v in plain) or "…"
    text = "unknown" if value is None else str(value) or "empty"
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _row(one: Difference) -> dict[str, Any]:
    return {**asdict(one), "layer": one.layer.value}
