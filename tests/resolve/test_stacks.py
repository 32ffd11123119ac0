"""Support questions with answers that sources give: stacks.txt has each with its source, 60 and more of them from
sources that the catalogue was not made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from doctor.knowledge import Knowledge, windows
from doctor.resolve import described, solve
from tests.each import each

KB = Knowledge()


class Stack(NamedTuple):
    verdict: str
    question: str
    asked: str
    origin: str
    source: str


def stacks() -> list[Stack]:
    lines = Path(__file__).with_name("stacks.txt").read_text("utf-8").splitlines()
    return [Stack(*line.split(" | ")) for line in lines if line and not line.startswith("#")]


STACKS = stacks()


def _solved(asked: str) -> str:
    packages, _, options = asked.partition(" ; ")
    target = described(KB, **dict(option.split("=", 1) for option in options.split()))
    return {"solved": "yes", "impossible": "no"}.get(solve(KB, target, packages.split()).status, "unknown")


def answer(stack: Stack) -> str:
    words = stack.asked.split()
    if stack.question == "solve":
        return _solved(stack.asked)
    if stack.question == "module":
        return "no" if KB.open_module(words[0]) == "unsupported" else "yes"
    ask: dict[str, Callable[..., windows.Answer]] = {
        "driver-cuda": windows.driver_serves_cuda,
        "rocm-gpu": windows.rocm_lists_gpu,
        "kmd": windows.kmd_serves_rocm,
        "compat": windows.forward_compat,
    }
    if stack.question == "gpu-driver":
        return windows.driver_knows_gpu(KB, words[1], words[0]).verdict
    if stack.question == "rocm-os":
        return windows.os_serves_rocm(KB, *words).verdict
    return ask[stack.question](KB, *words).verdict


@each("stack", STACKS)
def test_the_answer_is_that_of_the_source(stack: Stack) -> None:
    assert answer(stack) == stack.verdict, f"{stack.asked}: {stack.source} says {stack.verdict}"


def test_there_are_enough_of_them_with_both_answers_and_many_from_elsewhere() -> None:
    origins, verdicts = Counter(s.origin for s in STACKS), Counter(s.verdict for s in STACKS)
    assert len(STACKS) >= 200
    assert origins["other"] >= 60
    assert verdicts["yes"] >= 60
    assert verdicts["no"] >= 60
    assert all(s.source for s in STACKS)
    assert len({(s.question, s.asked) for s in STACKS}) == len(STACKS)
