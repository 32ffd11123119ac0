"""A fleet with planted outliers: every one is found by the fact that was planted, and none is invented."""

from __future__ import annotations

from io import BytesIO

import pytest

from doctor.fleet.answers import of_stream
from doctor.fleet.tally import Tally
from doctor.fleet.verdict import Verdict, judged
from tests.fleet.synthetic import LOST, Fleet
from tests.paths import needs_shared

pytestmark = needs_shared


def verdict_of(fleet: Fleet) -> Verdict:
    lines = b"".join(b"%s: %s\n" % (node.encode(), line) for node, line in fleet.reports())
    return judged(Tally().add_all(of_stream(BytesIO(lines))))


def found(verdict: Verdict) -> dict[str, set[str]]:
    """Odd node -> facts in which it differs."""
    facts: dict[str, set[str]] = {}
    for kind in verdict.kinds:
        for difference in kind.differences:
            for node in difference.nodes:
                facts.setdefault(verdict.tally.nodes[node], set()).add(difference.fact)
    return facts


def assert_exact(fleet: Fleet, verdict: Verdict) -> None:
    told = found(verdict)
    assert told.keys() == fleet.planted.keys()
    for node, fact in fleet.planted.items():
        assert told[node] <= set(fact.split("|")), f"{node}: planted {fact}, told {told[node]}"
    assert {verdict.tally.nodes[n] for n in verdict.with_errors()} == fleet.errors
    assert set(verdict.tally.silent) == fleet.silent
    assert not verdict.divided()
    assert [kind.name for kind in verdict.kinds]
    assert len(verdict.kinds) == 3


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_planted_outlier_is_found_and_none_is_invented(seed: int) -> None:
    fleet = Fleet(400, seed=seed, every=20)
    assert_exact(fleet, verdict_of(fleet))


@pytest.mark.slow
def test_forty_oddities_among_a_thousand_nodes_are_named_with_scope_and_action() -> None:
    fleet = Fleet(1000, every=25)
    verdict = verdict_of(fleet)
    assert len(fleet.planted) == 40
    assert_exact(fleet, verdict)
    drained = {node for nodes in verdict.to_drain().values() for node in nodes}
    assert drained == {node for node, fact in fleet.planted.items() if fact in LOST}
