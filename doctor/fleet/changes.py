"""Two fleet reports (`doctor.fleet/1`) -> what got worse, what got better, and what is configured otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from doctor.errors import InputError
from doctor.fleet.names import expanded
from doctor.fleet.text import names, shown

Data = Mapping[str, Any]
Rule = tuple[str, str]
"""Severity and rule."""


@dataclass
class Side:
    """What is compared of one report."""

    nodes: set[str] = field(default_factory=set)
    bad: dict[str, str] = field(default_factory=dict)
    """Node -> the first reason why it is not good."""
    rules: dict[Rule, set[str]] = field(default_factory=dict)
    """Errors and warnings -> their nodes."""
    common: dict[str, dict[str, str]] = field(default_factory=dict)
    """Kind -> what its nodes have in common."""


@dataclass(frozen=True)
class Changes:
    newly_bad: dict[str, str]
    """Node -> why."""
    newly_good: list[str]
    missing: list[str]
    """Nodes of which nothing came the second time, and nothing says why."""
    added: list[str]
    new: dict[Rule, list[str]]
    """Nodes that have it now and had it not."""
    gone: dict[Rule, list[str]]
    configuration: list[tuple[str, str, str, str]]
    """Kind, fact, before, after."""

    def worse(self) -> bool:
        return bool(self.newly_bad or self.missing or self.new)

    def any(self) -> bool:
        return self.worse() or bool(self.newly_good or self.added or self.gone or self.configuration)


def side(fleet: Data) -> Side:
    """Of a report that has the form of doctor.fleet.schema."""
    made = Side()
    for kind in fleet["kinds"]:
        for group in kind["groups"]:
            made.nodes.update(_listed(group["nodes"]))
        made.common.setdefault(kind["kind"], {}).update(kind["common"])
    for silent in fleet["silent"]:
        for node in _listed(silent["nodes"]):
            made.bad.setdefault(node, silent["reason"])
    for finding in fleet["findings"]:
        if finding["severity"] != "info":
            found = set(_listed(finding["nodes"]))
            made.rules.setdefault((finding["severity"], finding["rule"]), set()).update(found)
            if finding["severity"] == "error":
                for node in found:
                    made.bad.setdefault(node, finding["rule"])
    for odd in (odd for kind in fleet["kinds"] for odd in kind["odd"]):
        for node in _listed(odd["nodes"]):
            made.bad.setdefault(node, f"{odd['fact']} = {odd['value']}, not {odd['common']}")
    for node in _listed(fleet["bad"]["nodes"]):
        made.bad.setdefault(node, "it could not be checked")
    made.nodes |= made.bad.keys()
    return made


def _listed(text: str) -> Iterator[str]:
    """Names of a list; one that no scheduler takes as it is."""
    for part in filter(None, text.split(", ")):
        yield from _expanded(part)


def _expanded(part: str) -> list[str]:
    try:
        return expanded(part)
    except InputError:
        return [part]


def compared(before: Side, after: Side) -> Changes:
    both = before.nodes & after.nodes
    severities = ("error", "warning")
    rules = sorted({*before.rules, *after.rules}, key=lambda rule: (severities.index(rule[0]), rule[1]))
    new = {r: sorted(after.rules.get(r, set()) - before.rules.get(r, set())) for r in rules}
    gone = {r: sorted((before.rules.get(r, set()) - after.rules.get(r, set())) & both) for r in rules}
    return Changes(
        newly_bad={node: why for node, why in sorted(after.bad.items()) if node not in before.bad},
        newly_good=sorted(node for node in before.bad if node in both and node not in after.bad),
        missing=sorted(before.nodes - after.nodes),
        added=sorted(after.nodes - before.nodes),
        new={rule: nodes for rule, nodes in new.items() if nodes},
        gone={rule: nodes for rule, nodes in gone.items() if nodes},
        configuration=list(_configuration(before, after)),
    )


def _configuration(before: Side, after: Side) -> Iterator[tuple[str, str, str, str]]:
    """Of kinds that are there both times. A value that is no longer the common one is unknown or divided."""
    for kind in sorted(before.common.keys() & after.common.keys()):
        old, new = before.common[kind], after.common[kind]
        for fact in sorted(old.keys() | new.keys()):
            if old.get(fact) != new.get(fact):
                yield kind, fact, old.get(fact, "no common value"), new.get(fact, "no common value")


def as_data(changes: Changes) -> dict[str, Any]:
    """`doctor.fleet-diff/1`."""
    return {
        "schema": "doctor.fleet-diff/1",
        "worse": changes.worse(),
        "newly_bad": [{"nodes": names(nodes), "why": shown(why)} for why, nodes in by_reason(changes)],
        "newly_good": names(changes.newly_good),
        "missing": names(changes.missing),
        "added": names(changes.added),
        "new": [_rule_data(rule, nodes) for rule, nodes in changes.new.items()],
        "gone": [_rule_data(rule, nodes) for rule, nodes in changes.gone.items()],
        "configuration": [
            dict(zip(("kind", "fact", "before", "after"), map(shown, row), strict=True))
            for row in changes.configuration
        ],
    }


def _rule_data(rule: Rule, nodes: Iterable[str]) -> dict[str, str]:
    return {"severity": rule[0], "rule": shown(rule[1]), "nodes": names(nodes)}


def by_reason(changes: Changes) -> list[tuple[str, list[str]]]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for node, why in changes.newly_bad.items():
        reasons[why].append(node)
    return sorted(reasons.items(), key=lambda row: (-len(row[1]), row[0]))
