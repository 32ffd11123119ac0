"""A tally -> its kinds of nodes: what each kind has in common, the odd ones and exactly what differs.

Nodes with the same GPU models are one kind. Within a kind the value that two thirds of those nodes have that tell it
is the common one, and a node with another value is odd. Without such a value the kind is divided, and nobody is
odd. A fact that is different on more than half of the nodes is no configuration and is named as such. What a node does
not tell makes it no odd one. A golden report takes the place of the common values; so does a profile, for the facts
that it expects.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from doctor.findings import Action, Scope
from doctor.fleet import configuration
from doctor.fleet.configuration import AMOUNTS, AREAS, OF_ALL_GPUS, WHOLE
from doctor.fleet.odd import meaning
from doctor.fleet.tally import Tally

if TYPE_CHECKING:
    from doctor.fleet.expected import Deviation

NOT_THERE = "not there"
_FEW = 3
"""Nodes that make a kind of their own beside a larger one; fewer are odd ones of the kind that is like them."""
_LARGE = 8
_ALIKE = ("system: host.cpu", "system: memory")
"""What a node without GPUs shares with those that it belongs to."""
_WITHIN = 0.02
_WITHIN_BENCH = 0.1
"""Parts of one kind differ by some percent (bench-below-baseline)."""
_AMOUNT = re.compile(r"([0-9.e+-]{1,20}) (\S.{0,20})")


@dataclass(frozen=True)
class Difference:
    """One fact in which nodes of a kind differ from the others. `nodes` are places in the tally."""

    fact: str
    common: str
    """Value of the others, or the one that is expected."""
    value: str
    nodes: tuple[int, ...]

    @cached_property
    def meaning(self) -> tuple[Scope, Action]:
        """Whose matter it is, and what to do with these nodes."""
        return meaning(self.fact, self.value, self.common)


@dataclass(frozen=True)
class Division:
    """A fact without a common value: each value and its nodes, the most frequent first."""

    fact: str
    values: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass
class Kind:
    """Nodes with the same GPUs."""

    name: str
    nodes: list[int]
    groups: list[list[int]] = field(default_factory=list)
    """Nodes of equal configuration, the largest group first."""
    differences: list[Difference] = field(default_factory=list)
    divisions: list[Division] = field(default_factory=list)
    varies: list[str] = field(default_factory=list)
    """Facts that differ on more than half of the nodes."""
    golden: bool = False
    """Whether a golden report says what they should have, and not the majority."""
    profile: str | None = None
    """The profile that says some of what they should have."""
    common: dict[str, str] = field(default_factory=dict)
    """Fact -> the value that two thirds of the nodes have."""
    untold: dict[str, int] = field(default_factory=dict)
    """Fact -> on how many nodes it is not known, of those that others of this kind tell."""

    def odd(self) -> set[int]:
        return {node for difference in self.differences for node in difference.nodes}

    def usual(self) -> int | None:
        """A node as most are, that no other of its kind differs from; None where every one is odd."""
        odd = self.odd()
        return next((node for group in self.groups for node in group if node not in odd), None)

    def measure(self) -> str:
        """What its nodes are compared with, in words."""
        rest = "the golden report" if self.golden else "the majority"
        return f"profile {self.profile} and {rest}" if self.profile else rest


def kinds_of(tally: Tally, golden: Sequence[Mapping[str, Any]] = ()) -> list[Kind]:
    """The largest first. `golden` are reports of nodes that are as they should be, one for each kind: what they have
    counts in place of what most nodes have."""
    expected = {configuration.identity(r.get("snapshot") or {}): configuration.all_facts(r) for r in golden}
    members: dict[int, list[int]] = defaultdict(list)
    for node, shape in enumerate(tally.shape_of):
        members[shape].append(node)
    kinds = [_kind(tally, shapes, members, expected) for shapes in _kinds(tally, members)]
    return sorted(kinds, key=lambda k: (-len(k.nodes), k.name))


def _kinds(tally: Tally, members: dict[int, list[int]]) -> list[list[int]]:
    """Shapes by kind of hardware. Few that are alone join the larger kind that they are most like."""
    by_identity: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in members:  # a shape without members was in a report that a newer one replaced
        by_identity[tally.shapes[number].identity].append(number)
    size = {identity: sum(len(members[s]) for s in shapes) for identity, shapes in by_identity.items()}
    large = [identity for identity in by_identity if identity and size[identity] >= _LARGE]
    most = {identity: max(by_identity[identity], key=lambda s: (len(members[s]), -s)) for identity in large}
    common = {identity: tally.facts(shape) for identity, shape in most.items()}
    kinds = {identity: list(shapes) for identity, shapes in by_identity.items()}
    for identity, numbers in by_identity.items():
        for number in numbers:
            home = _home(tally.facts(number), identity, size, common)
            if home is not None and home != identity:
                kinds[identity].remove(number)
                kinds[home].append(number)
    return [shapes for shapes in kinds.values() if shapes]


def _home(
    facts: dict[str, str],
    identity: tuple[str, ...],
    size: dict[tuple[str, ...], int],
    common: dict[tuple[str, ...], dict[str, str]],
) -> tuple[str, ...] | None:
    """The large kind that a node of that hardware belongs to, where it is no kind of its own."""
    others = [k for k in common if k != identity]
    if not identity:  # it has no GPUs, or lost them
        alike = [k for k in others if all(f in facts and same(f, facts[f], common[k].get(f, "")) for f in _ALIKE)]
        return max(alike, key=lambda k: (_shared(facts, common[k]), size[k]), default=None)
    if size[identity] >= _FEW:
        return None
    near = max(others, key=lambda k: (_shared(facts, common[k]), size[k]), default=None)
    return near if near is not None and _shared(facts, common[near]) * 2 > len(facts) else None


def _shared(facts: dict[str, str], usual: dict[str, str]) -> int:
    return sum(usual.get(fact) == value for fact, value in facts.items())


Expected = Mapping[tuple[str, ...], Mapping[str, str]]


def _kind(tally: Tally, shapes: list[int], members: dict[int, list[int]], expected: Expected) -> Kind:
    nodes = sorted(n for s in shapes for n in members[s])
    name, size = Counter[str](), Counter[tuple[str, ...]]()
    for shape in shapes:
        name[tally.shapes[shape].kind] += len(members[shape])
        size[tally.shapes[shape].identity] += len(members[shape])
    kind = Kind(max(name, key=lambda n: (name[n], n)), nodes)
    values: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    golden = dict(expected.get(max(size, key=lambda identity: size[identity]), {}))
    facts_of = _completed(tally, shapes, golden)
    kind.golden = bool(golden)
    for shape, facts in facts_of.items():
        for fact, value in facts.items():
            values[fact][value].append(shape)
    _of_another_number(values, members)
    apart = _expected(kind, tally)
    for fact in apart:
        values.pop(fact, None)
    for fact, by_value in values.items():
        places = {value: [n for s in at for n in members[s]] for value, at in by_value.items()}
        if _judge_fact(kind, fact, _merged(fact, places), golden.get(fact)):
            apart.add(fact)
    kind.differences.sort(key=lambda d: (_order(d.fact), d.value))
    kind.groups = _groups(kind, facts_of, members, apart)
    return kind


def _expected(kind: Kind, tally: Tally) -> set[str]:
    """The facts that a profile compares in place of the majority; nodes that are not as it expects go into the kind."""
    outcomes = {node: tally.outcomes[tally.outcome_of[node]] for node in kind.nodes}
    if tally.expected is None or not any(outcome and outcome.applies for outcome in outcomes.values()):
        return set()
    kind.profile = tally.expected.profile.name
    rows: dict[Deviation, list[int]] = defaultdict(list)
    for node, outcome in outcomes.items():
        for deviation in outcome.deviations if outcome else ():
            rows[deviation].append(node)
    kind.differences += [Difference(*deviation, tuple(nodes)) for deviation, nodes in rows.items()]
    return set(tally.expected.replaced)


def _of_another_number(values: dict[str, dict[str, list[int]]], members: Mapping[int, list[int]]) -> None:
    """Of nodes with another number of GPUs than most, lists of all GPUs are not compared: the number says it."""
    numbers = values.get("gpu: GPUs", {})
    usual = max(numbers, key=lambda n: sum(len(members[s]) for s in numbers[n]), default=None)
    others = {shape for number, shapes in numbers.items() if number != usual for shape in shapes}
    for fact in OF_ALL_GPUS:
        kept = {value: [s for s in at if s not in others] for value, at in values.pop(fact, {}).items()}
        if any(kept.values()):
            values[fact] = defaultdict(list, {value: at for value, at in kept.items() if at})


def _completed(tally: Tally, shapes: list[int], golden: dict[str, str]) -> dict[int, dict[str, str]]:
    """The facts of each shape. A package or flag that only others or the golden report have is listed as missing."""
    facts_of = {shape: tally.facts(shape) for shape in shapes}
    for area in WHOLE:
        names = {fact for facts in (*facts_of.values(), golden) for fact in facts if fact.startswith(f"{area}: ")}
        if names & golden.keys():
            golden.update(dict.fromkeys(names - golden.keys(), NOT_THERE))
        for shape, facts in facts_of.items():
            if tally.shapes[shape].areas[AREAS.index(area)] >= 0:
                facts.update(dict.fromkeys(names - facts.keys(), NOT_THERE))
    return facts_of


def _order(fact: str) -> tuple[int, str]:
    return (AREAS.index(fact.split(":")[0]), fact)


def _merged(fact: str, places: dict[str, list[int]]) -> dict[str, list[int]]:
    """Amounts within 2 % of the most frequent one are that one; measurements within 10 % of their median."""
    if _within(fact) is None or len(places) == 1:
        return places
    usual = max(places, key=lambda v: (len(places[v]), v))
    if fact.startswith("bench: "):
        numbers = sorted((v for v, at in places.items() for _ in at if _AMOUNT.fullmatch(v)), key=_number)
        usual = numbers[len(numbers) // 2] if numbers else usual
    out: dict[str, list[int]] = defaultdict(list)
    for value, nodes in places.items():
        out[usual if same(fact, value, usual) else value] += nodes
    return out


def same(fact: str, value: str, usual: str) -> bool:
    within = _within(fact)
    if value == usual or within is None:
        return value == usual
    a, b = _AMOUNT.fullmatch(value), _AMOUNT.fullmatch(usual)
    if not a or not b or a[2] != b[2]:
        return False
    return abs(_number(value) - _number(usual)) <= within * _number(usual)


def _within(fact: str) -> float | None:
    """By how much two amounts may differ that are the same; None for what is no amount."""
    if fact.startswith("bench: "):
        return _WITHIN_BENCH
    return _WITHIN if fact.split(": ")[-1] in AMOUNTS else None


def _number(amount: str) -> float:
    try:
        return float(amount.partition(" ")[0])
    except ValueError:
        return 0.0


def _judge_fact(kind: Kind, fact: str, places: dict[str, list[int]], golden: str | None) -> bool:
    """Whether its values set nodes apart; what they show goes into the kind. `golden` is the value that they should
    have, where a golden report says one."""
    known = sum(map(len, places.values()))
    if known < len(kind.nodes):
        kind.untold[fact] = len(kind.nodes) - known
    rows = sorted(((v, tuple(sorted(n))) for v, n in places.items()), key=lambda r: (-len(r[1]), r[0]))
    common, most = rows[0]
    if 3 * len(most) >= 2 * known:
        kind.common[fact] = common
    if golden is not None:
        wrong = [Difference(fact, golden, v, tuple(sorted(n))) for v, n in places.items() if not same(fact, v, golden)]
        kind.differences += wrong
        return bool(wrong)
    if len(places) == 1:
        return False
    if len(places) > max(_LARGE, known / 2):
        kind.varies.append(fact)
        return False
    if fact not in kind.common:
        kind.divisions.append(Division(fact, tuple(rows)))
    else:
        kind.differences += [Difference(fact, common, value, nodes) for value, nodes in rows[1:]]
    return True


def _groups(
    kind: Kind, facts_of: dict[int, dict[str, str]], members: dict[int, list[int]], apart: set[str]
) -> list[list[int]]:
    """Nodes that are equal in every fact that sets nodes of this kind apart, and in what is known of them."""
    value_of: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for difference in kind.differences:
        for node in difference.nodes:
            value_of[node].append((difference.fact, difference.value))
    for division in kind.divisions:
        for value, nodes in division.values:
            for node in nodes:
                value_of[node].append((division.fact, value))
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for shape, facts in facts_of.items():
        unknown = tuple(sorted(f for f in apart if f not in facts))
        for node in members[shape]:
            groups[tuple(sorted(value_of.get(node, ()))), unknown].append(node)
    return sorted((sorted(g) for g in groups.values()), key=lambda g: (-len(g), g[0]))
