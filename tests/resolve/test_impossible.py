"""Combinations that can't be, each with the nearest stack that can, and what of the machine would do instead."""

from __future__ import annotations

from pathlib import Path

from doctor.knowledge import Knowledge
from doctor.resolve import described, solve
from tests.each import each

KB = Knowledge()
ROWS = [
    tuple(line.split(" | "))
    for line in Path(__file__).with_name("impossible.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_there_are_thirty_and_more() -> None:
    assert len(ROWS) >= 30
    assert len({asked for asked, *_ in ROWS}) == len(ROWS)


@each("asked, nearest, change", ROWS)
def test_the_nearest_stack_is_named_and_itself_solved(asked: str, nearest: str, change: str) -> None:
    packages, _, options = asked.partition(" ; ")
    target = described(KB, **dict(option.split("=", 1) for option in options.split()))
    found = solve(KB, target, packages.split())
    assert found.status == "impossible"
    assert found.refusals(), "why not"
    assert all(reason.source for reason in found.refusals() if reason.kind != "release"), "each reason has its source"
    assert found.nearest
    assert (found.nearest.status, found.nearest.stack) == ("solved", nearest)
    assert found.nearest.commands
    assert found.differs
    assert (found.changes[0].text if found.changes else "-") == change
