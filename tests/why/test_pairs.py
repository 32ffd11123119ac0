"""The planted cause comes first, or among the first three, in pairs that were written down before."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.why.ranking import why
from doctor.why.symptom import Symptom
from tests.why.pairs import PAIRS, Pair

KB = Knowledge()


def place(pair: Pair) -> int:
    """Of the first planted difference in the ranking, from 0; all of them have to be among the first three."""
    good, bad = pair.sides()
    ranked = [d.name for d in why(judge(good, KB), judge(bad, KB), KB, Symptom(pair.suspects)).ranked]
    assert pair.cause <= set(ranked), "not a difference"
    places = sorted(ranked.index(name) for name in pair.cause)
    return places[0] if places[-1] < 3 else places[-1]


@pytest.mark.parametrize("pair", PAIRS, ids=[p.name for p in PAIRS])
def test_the_planted_cause_is_among_the_first_three(pair: Pair) -> None:
    assert place(pair) < 3


def test_it_comes_first_in_four_of_five() -> None:
    assert sum(place(pair) == 0 for pair in PAIRS) >= 0.8 * len(PAIRS)
