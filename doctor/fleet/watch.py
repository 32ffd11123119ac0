"""One verdict after the other on the same nodes -> what changed between two looks, a line a change.

A node whose report is missing or unreadable at one look may just be writing it: what was known of it is kept, and only
a second look without one counts. What is not known any more is kept as well: that is no repair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from doctor.fleet.configuration import WHOLE
from doctor.fleet.kinds import same
from doctor.fleet.text import meaning_of, names, shown
from doctor.fleet.verdict import Verdict
from doctor.report.words import plural

State = tuple[str, str]
"""What is known of a node: `error`, `warning`, `odd`, `unknown`, `late` or `silent`; and the rule, fact or reason."""
Detail = tuple[str, str]
"""Of an odd node its value; and more words."""
States = Mapping[State, Mapping[str, Detail]]
REPORTS: State = ("reports", "")
_PLAIN: Detail = ("", "")
_SORTS = ("left", "new", "joined", "gone", "changed")


class Change(NamedTuple):
    """`sort`: left, new, joined, gone or changed; `state`: what is new or gone; `of`: nodes in bracket form, or the
    kind of node whose common value changed."""

    sort: str
    state: str
    what: str
    of: str

    def line(self) -> str:
        return f"{' '.join(filter(None, self[:3]))}: {self.of}"


class Watch:
    """What was known of each node at the last look. Memory: some words a node, whatever the number of looks."""

    def __init__(self) -> None:
        self._states: States = {REPORTS: {}}
        self._common: dict[str, dict[str, str]] = {}
        self._doubted: set[str] = set()
        """Nodes that reported before and gave nothing at the last look, for the first time."""

    def changes(self, verdict: Verdict, now: float, late_s: float) -> list[Change]:
        """`now`: seconds since 1970; `late_s`: seconds after which a node should have reported again."""
        states = _states(verdict, now, late_s)
        lost = self._states[REPORTS].keys() - states[REPORTS].keys()
        self._doubted = lost - self._doubted
        for state in states:
            if state[0] == "silent":
                states[state] = {n: detail for n, detail in states[state].items() if n not in self._doubted}
        for state, nodes in self._states.items():
            for node, detail in nodes.items():
                if node in self._doubted or (state[0] == "odd" and _unknown(verdict, node, state[1])):
                    states[state].setdefault(node, detail)
        common = {shown(kind.name): dict(kind.common) for kind in verdict.kinds}
        found = [*_between(self._states, states), *_common_values(self._common, common)]
        self._states, self._common = {REPORTS: {}, **{s: nodes for s, nodes in states.items() if nodes}}, common
        return sorted(found, key=lambda change: (_SORTS.index(change.sort), *change))


def _states(verdict: Verdict, now: float, late_s: float) -> defaultdict[State, dict[str, Detail]]:
    tally = verdict.tally
    states: defaultdict[State, dict[str, Detail]] = defaultdict(dict)
    states[REPORTS] = dict.fromkeys(tally.nodes, _PLAIN)

    def say(state: State, nodes: Iterable[int], detail: Detail = _PLAIN) -> None:
        states[state].update((tally.nodes[node], detail) for node in nodes)

    for problem, seen in tally.problems.items():
        if problem.severity != "info":
            about = meaning_of(problem.scope, problem.action)
            say((problem.severity, problem.rule), seen.nodes, ("", f" ({about})" if about else ""))
    for one in (one for kind in verdict.kinds for one in kind.differences):
        about = meaning_of(*(word.value for word in one.meaning))
        say(("odd", one.fact), one.nodes, (one.value, f" = {one.value}, expected {one.common} ({about})"))
    for layer, nodes in tally.unchecked().items():
        say(("unknown", f"{layer} not checked"), nodes)
    for fact, nodes in verdict.not_compared().items():
        say(("unknown", f"{fact}, which the profile expects"), nodes)
    say(("late", f"no new report for {plural(max(int(late_s // 60), 1), 'minute')}"), tally.late(now, late_s))
    for node, why in tally.silent.items():
        states["silent", why][node] = _PLAIN
    return states


def _unknown(verdict: Verdict, node: str, fact: str) -> bool:
    """Whether the report that the node gave now does not say how it is with that fact."""
    place = verdict.tally.answered(node)
    if place is None:
        return False
    facts = verdict.tally.facts(verdict.tally.shape_of[place])
    area = fact.partition(": ")[0]
    if area in WHOLE:
        return not any(name.startswith(f"{area}: ") for name in facts)
    return ("gpu: GPUs" if fact == "gpu: lost GPUs" else fact) not in facts


def _between(before: States, after: States) -> Iterator[Change]:
    old, new = before[REPORTS], after[REPORTS]
    silent = {node for state, nodes in after.items() if state[0] == "silent" for node in nodes}
    yield from _changes("joined", REPORTS, dict.fromkeys(new.keys() - old.keys(), _PLAIN))
    yield from _changes("left", REPORTS, dict.fromkeys(old.keys() - new.keys() - silent, _PLAIN))
    for state in (before.keys() | after.keys()) - {REPORTS}:
        was, now = before.get(state, {}), after.get(state, {})
        yield from _changes("new", state, {n: d for n, d in now.items() if n not in was or _moved(state, was[n], d)})
        yield from _changes("gone", state, {n: _PLAIN for n in was if n not in now and n in new})


def _moved(state: State, before: Detail, after: Detail) -> bool:
    """Whether a node that is odd in a fact has another value of it now; a measurement is never twice the same."""
    return state[0] == "odd" and not same(state[1], after[0], before[0])


def _changes(sort: str, state: State, nodes: Mapping[str, Detail]) -> Iterator[Change]:
    by_detail: dict[str, list[str]] = defaultdict(list)
    for node, (_, words) in nodes.items():
        by_detail[words].append(node)
    kind = "" if state == REPORTS else state[0]
    yield from (Change(sort, kind, shown(state[1] + words), names(those)) for words, those in by_detail.items())


def _common_values(before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]) -> Iterator[Change]:
    """What most nodes of a kind have, where they had something else before."""
    for kind in before.keys() & after.keys():
        for fact in before[kind].keys() & after[kind].keys():
            old, new = before[kind][fact], after[kind][fact]
            if not same(fact, new, old):
                yield Change("changed", "", f"{shown(fact)}: {shown(old)} -> {shown(new)}", kind)
