"""A tally -> the verdict: kinds of nodes, what each kind has in common, the odd ones and exactly what differs.

Nodes with the same GPU models are one kind. Within a kind the value that two thirds of those nodes have that tell it
is the common one, and a node with another value is odd. Without such a value the kind is divided, and nobody is
odd. A fact that is different on more than half of the nodes is no configuration and is named as such. What a node does
not tell makes it no odd one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.fleet.configuration import AMOUNTS, AREAS, WHOLE
from doctor.fleet.tally import Tally

NOT_THERE = "not there"
_FEW = 3
"""Nodes that make a kind of their own beside a larger one; fewer are odd ones of the kind that is like them."""
_LARGE = 8
_ALIKE = ("system: host.cpu", "system: memory")
"""What a node without GPUs shares with those that it belongs to."""
_WITHIN = 0.02
_AMOUNT = re.compile(r"([0-9.]+) GiB")


@dataclass(frozen=True)
class Difference:
    """One fact in which nodes of a kind differ from the others. `nodes` are places in the tally."""

    fact: str
    common: str
    """Value of the others."""
    value: str
    nodes: tuple[int, ...]


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
    untold: dict[str, int] = field(default_factory=dict)
    """Fact -> on how many nodes it is not known, of those that others of this kind tell."""

    def odd(self) -> set[int]:
        return {node for difference in self.differences for node in difference.nodes}


@dataclass
class Verdict:
    tally: Tally
    kinds: list[Kind]
    """The largest first."""
    disagreements: list[str] = field(default_factory=list)
    """What a scheduler says and a node doesn't."""

    def odd(self) -> set[int]:
        return {node for kind in self.kinds for node in kind.odd()}

    def with_errors(self) -> set[int]:
        return {n for p, seen in self.tally.problems.items() if p.severity == "error" for n in seen.nodes}

    def unjudged(self) -> set[int]:
        """Nodes that have GPUs, or should, and whose report judges nothing."""
        return {
            n for n in range(len(self.tally.nodes)) if self.tally.status(n) == "unknown" and self.tally.gpus_of[n] != 0
        }

    def bad(self) -> list[str]:
        """Names of the nodes to keep jobs from: with an error, odd, or without a report."""
        places = self.with_errors() | self.odd() | self.unjudged()
        return [*(self.tally.nodes[n] for n in sorted(places)), *self.tally.silent]

    def divided(self) -> bool:
        return any(kind.divisions for kind in self.kinds)


def judged(tally: Tally) -> Verdict:
    members: dict[int, list[int]] = defaultdict(list)
    for node, shape in enumerate(tally.shape_of):
        members[shape].append(node)
    kinds = [_kind(tally, shapes, members) for shapes in _kinds(tally, members)]
    return Verdict(tally, sorted(kinds, key=lambda k: (-len(k.nodes), k.name)))


def _kinds(tally: Tally, members: dict[int, list[int]]) -> list[list[int]]:
    """Shapes by kind of hardware. Few that stand alone join the larger kind that they are most like."""
    by_identity: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, shape in enumerate(tally.shapes):
        by_identity[shape.identity].append(number)
    size = {identity: sum(len(members[s]) for s in shapes) for identity, shapes in by_identity.items()}
    large = [identity for identity in by_identity if identity and size[identity] >= _LARGE]
    common = {identity: _usual(tally, by_identity[identity], members) for identity in large}
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
        alike = [k for k in others if all(f in facts and _same(f, facts[f], common[k].get(f, "")) for f in _ALIKE)]
        return max(alike, key=lambda k: (_shared(facts, common[k]), size[k]), default=None)
    if size[identity] >= _FEW:
        return None
    near = max(others, key=lambda k: (_shared(facts, common[k]), size[k]), default=None)
    return near if near is not None and _shared(facts, common[near]) * 2 > len(facts) else None


def _shared(facts: dict[str, str], usual: dict[str, str]) -> int:
    return sum(usual.get(fact) == value for fact, value in facts.items())


def _usual(tally: Tally, shapes: list[int], members: dict[int, list[int]]) -> dict[str, str]:
    """The facts of the most frequent configuration."""
    return tally.facts(max(shapes, key=lambda s: (len(members[s]), -s)))


def _kind(tally: Tally, shapes: list[int], members: dict[int, list[int]]) -> Kind:
    nodes = sorted(n for s in shapes for n in members[s])
    name = Counter({tally.shapes[s].kind: 0 for s in shapes})
    for shape in shapes:
        name[tally.shapes[shape].kind] += len(members[shape])
    kind = Kind(max(name, key=lambda n: (name[n], n)), nodes)
    values: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    facts_of = _completed(tally, shapes)
    for shape, facts in facts_of.items():
        for fact, value in facts.items():
            values[fact][value].append(shape)
    apart: set[str] = set()
    for fact, by_value in values.items():
        places = {value: [n for s in at for n in members[s]] for value, at in by_value.items()}
        if _judge_fact(kind, fact, _merged(fact, places)):
            apart.add(fact)
    kind.differences.sort(key=lambda d: (_order(d.fact), d.value))
    kind.groups = _groups(kind, facts_of, members, apart)
    return kind


def _completed(tally: Tally, shapes: list[int]) -> dict[int, dict[str, str]]:
    """The facts of each shape; a package or flag that others have and it has not is told as such."""
    facts_of = {shape: tally.facts(shape) for shape in shapes}
    for area in WHOLE:
        names = {fact for facts in facts_of.values() for fact in facts if fact.startswith(f"{area}: ")}
        for shape, facts in facts_of.items():
            if tally.shapes[shape].areas[AREAS.index(area)] >= 0:
                facts.update(dict.fromkeys(names - facts.keys(), NOT_THERE))
    return facts_of


def _order(fact: str) -> tuple[int, str]:
    return (AREAS.index(fact.split(":")[0]), fact)


def _merged(fact: str, places: dict[str, list[int]]) -> dict[str, list[int]]:
    """Amounts within 2 % of the most frequent one are that one."""
    if fact.split(": ")[-1] not in AMOUNTS:
        return places
    usual = max(places, key=lambda v: (len(places[v]), v))
    out: dict[str, list[int]] = defaultdict(list)
    for value, nodes in places.items():
        out[usual if _same(fact, value, usual) else value] += nodes
    return out


def _same(fact: str, value: str, usual: str) -> bool:
    if value == usual or fact.split(": ")[-1] not in AMOUNTS:
        return value == usual
    a, b = _AMOUNT.fullmatch(value), _AMOUNT.fullmatch(usual)
    return bool(a and b) and abs(float(a[1]) - float(b[1])) <= _WITHIN * float(b[1])  # type: ignore[index]


def _judge_fact(kind: Kind, fact: str, places: dict[str, list[int]]) -> bool:
    """Whether its values set nodes apart; what they show goes into the kind."""
    known = sum(map(len, places.values()))
    if known < len(kind.nodes):
        kind.untold[fact] = len(kind.nodes) - known
    if len(places) == 1:
        return False
    rows = sorted(((v, tuple(sorted(n))) for v, n in places.items()), key=lambda r: (-len(r[1]), r[0]))
    if len(places) > max(_LARGE, known / 2):
        kind.varies.append(fact)
        return False
    common, most = rows[0]
    if 3 * len(most) < 2 * known:
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


def one_line(verdict: Verdict) -> str:
    """Is my fleet good."""
    tally = verdict.tally
    total = len(tally.nodes) + len(tally.silent)
    if not total:
        return "Fleet: no node answered, and none was expected."
    bad = len(verdict.bad())
    parts = list(_parts(verdict))
    if not parts:
        return f"Fleet: good. All {total} nodes answered, without an error and equal to their kind."
    word = "NOT good" if bad or verdict.disagreements else "divided"
    return f"Fleet: {word}. {total - bad} of {total} nodes are good; {', '.join(parts)}."


def _parts(verdict: Verdict) -> Iterator[str]:
    for number, text in (
        (len(verdict.with_errors()), "with errors"),
        (len(verdict.odd()), "unlike their kind"),
        (len(verdict.unjudged()), "could not be judged"),
        (len(verdict.tally.silent), "gave no answer"),
    ):
        if number:
            yield f"{number} {text}"
    kinds = sum(bool(k.divisions) for k in verdict.kinds)
    if kinds:
        yield f"{kinds} {'kind is' if kinds == 1 else 'kinds are'} divided"
    if verdict.disagreements:
        yield f"{len(verdict.disagreements)} scheduler disagreement{'s' * (len(verdict.disagreements) > 1)}"
