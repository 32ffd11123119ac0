"""A tally -> the verdict: what is wrong with which nodes, which of them to keep jobs from, and one line for all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor.findings import Action
from doctor.fleet import configuration
from doctor.fleet.kinds import Kind, kinds_of
from doctor.fleet.tally import Tally
from doctor.report.words import plural

STALE_S = 24 * 3600
"""A report that is older than the newest by more is named."""


@dataclass
class Verdict:
    tally: Tally
    kinds: list[Kind]
    """The largest first."""
    disagreements: list[str] = field(default_factory=list)
    """What a scheduler says and a node doesn't."""
    golden_without_nodes: list[str] = field(default_factory=list)
    """Kinds of golden reports that no node here is of."""
    folder: Path | None = None
    """Where each node's report is a file, for `doctor why`."""

    def odd(self) -> set[int]:
        return {node for kind in self.kinds for node in kind.odd()}

    def with_errors(self) -> set[int]:
        return {n for p, seen in self.tally.problems.items() if p.severity == "error" for n in seen.nodes}

    def unjudged(self) -> set[int]:
        """Nodes that have GPUs, or should, and whose report judges nothing."""
        return {
            n for n in range(len(self.tally.nodes)) if self.tally.status(n) == "unknown" and self.tally.gpus_of[n] != 0
        }

    def not_compared(self) -> dict[str, list[int]]:
        """Fact that the profile expects -> nodes that it is for, or may be for, and of which it is not known."""
        rows: dict[str, list[int]] = defaultdict(list)
        for node, place in enumerate(self.tally.outcome_of):
            outcome = self.tally.outcomes[place]
            for fact in outcome.unknown if outcome else ():
                rows[fact].append(node)
        return dict(rows)

    def profile(self) -> str | None:
        """The name of the profile that nodes were compared with."""
        return self.tally.expected.profile.name if self.tally.expected else None

    def unused_profile(self) -> str | None:
        """The profile's name, where it is for none of the nodes."""
        return None if any(self.tally.outcome_of) else self.profile()

    def bad(self) -> list[str]:
        """Names of the nodes that are not good: with an error, odd, not checked, or without a report."""
        places = self.with_errors() | self.odd() | self.unjudged()
        return [*(self.tally.nodes[n] for n in sorted(places)), *self.tally.silent]

    def to_drain(self) -> dict[str, list[str]]:
        """Reason -> nodes to keep jobs from, each under its first reason: an error of the node itself, or fewer GPUs or
        links than its kind has. A node that gave no answer is not among them: that says nothing of its GPUs."""
        reason_of: dict[int, str] = {}
        for node, place in enumerate(self.tally.drain_of):
            if place:
                reason_of[node] = self.tally.reasons[place]
        for kind in self.kinds:
            for one in kind.differences:
                if one.meaning[1] is Action.DRAIN:
                    for node in one.nodes:
                        reason_of.setdefault(node, f"{one.fact.partition(': ')[2]} = {one.value}, not {one.common}")
        reasons: dict[str, list[str]] = defaultdict(list)
        for node in sorted(reason_of):
            reasons[reason_of[node]].append(self.tally.nodes[node])
        return dict(reasons)

    def without_gpus(self) -> bool:
        """Whether nodes answered, and none of them is known to have a GPU."""
        return bool(self.tally.nodes) and all(number == 0 for number in self.tally.gpus_of)

    def good(self) -> bool:
        """Whether nothing at all is wrong, and all that matters was checked."""
        return not list(_parts(self))

    def divided(self) -> bool:
        return any(kind.divisions for kind in self.kinds)


def judged(tally: Tally, golden: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    """`golden` are reports of nodes that are as they should be, one for each kind."""
    kinds = kinds_of(tally, golden)
    met = {kind.name for kind in kinds if kind.golden}
    named = [configuration.kind(report.get("snapshot") or {}) for report in golden]
    return Verdict(tally, kinds, golden_without_nodes=[name for name in named if name not in met])


def one_line(verdict: Verdict) -> str:
    """Is my fleet good."""
    tally = verdict.tally
    total = len(tally.nodes) + len(tally.silent)
    if not total:
        return "Fleet: no node answered, and none was expected."
    bad = len(verdict.bad())
    parts = list(_parts(verdict))
    if not parts:
        every = "The node" if total == 1 else f"All {total} nodes"
        alone = total == 1 and not (verdict.tally.expected or verdict.kinds[0].golden)
        equal = "" if alone else " and like " + _compared_with(verdict)
        return f"Fleet: good. {every} answered, without an error{equal}."
    word = "NOT good" if bad or verdict.disagreements else "divided" if verdict.divided() else "not fully checked"
    return f"Fleet: {word}. No problem found on {total - bad} of {total} nodes; {', '.join(parts)}."


def _compared_with(verdict: Verdict) -> str:
    golden = [kind.golden for kind in verdict.kinds]
    rest = (
        "the golden report"
        if all(golden)
        else "most of their kind, or its golden report"
        if any(golden)
        else "most of their kind"
    )
    profile = verdict.profile()
    return f"profile {profile} and {rest}" if profile else rest


def _parts(verdict: Verdict) -> Iterator[str]:
    for number, text in (
        (len(verdict.with_errors()), "with errors"),
        (len(verdict.odd()), "unlike their kind"),
        (len(verdict.unjudged()), "could not be checked"),
        (len(verdict.tally.silent), "gave no answer"),
    ):
        if number:
            yield f"{number} {text}"
    for layer, nodes in verdict.tally.unchecked().items():
        yield f"{layer} not checked on {len(nodes)} of {len(verdict.tally.nodes)}"
    if facts := verdict.not_compared():
        on = len({node for places in facts.values() for node in places})
        yield f"{plural(len(facts), 'fact')} of the profile not known on {on} of {len(verdict.tally.nodes)}"
    if unused := verdict.unused_profile():
        yield f"profile {unused} is for none of these GPUs"
    if verdict.without_gpus():
        yield "no node has a GPU"
    kinds = sum(bool(k.divisions) for k in verdict.kinds)
    if kinds:
        yield f"{kinds} {'kind is' if kinds == 1 else 'kinds are'} divided"
    if verdict.disagreements:
        yield f"{len(verdict.disagreements)} scheduler disagreement{'s' * (len(verdict.disagreements) > 1)}"
