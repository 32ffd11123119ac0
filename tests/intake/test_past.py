"""What a text plainly says is over is no error; what came back, what worked before and what is only hoped for stays."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake.past import without
from doctor.intake.read import read_text
from doctor.knowledge import Knowledge

X = "could not select device driver"


def kept(text: str) -> str:
    return "\n".join(line for _, line in without(enumerate(text.split("\n"), 1)))


def raised(text: str) -> list[str]:
    report = judge(read_text([text.encode()]), Knowledge(), source="issue.md")
    return [f.rule for f in report.counted() if f.severity.value != "info"]


@pytest.mark.parametrize(
    "text",
    [
        f"I used to get {X}, now fixed.",
        f"It was failing with '{X}', that is solved.",
        f"{X} is fixed already.",
        f"This was the error before I upgraded docker: {X}",
        f"The error is gone since the reinstall ({X}).",
        f"I no longer get that error ({X}).",
        f"Before, I used to get this:\n\n{X}\n\nNow all is well.",
        f"We got this before the upgrade:\n```\n$ docker run --gpus all x\n{X}\n```\nand now it runs.",
        f"```\n{X}\n```\n\nThis was the error before I upgraded docker.",
        f"{X}\nEdit: that is fixed now, thanks.",
    ],
)
def test_what_is_over_is_left_out(text: str) -> None:
    assert X not in kept(text)
    assert kept(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        f"It was fine before I upgraded, and then {X}",
        f"{X}: it was not there before I upgraded.",
        f"{X} was there before I upgraded too.",
        f"I used to get a segfault, but now {X}",
        f"The segfault is fixed now. {X}",
        f"{X} was fixed in 25.3, they say.",
        f"{X} should be fixed by the new toolkit?",
        f"{X} is not fixed by a reboot.",
        f"{X} is still there, though I read that it was fixed.",
        f"I fixed it with a restart, and it came back: {X}",
        f"nvidia-smi used to show eight GPUs and says {X} after the reboot",
        f"the GPU is gone: {X}",
        f"{X} was solved by --gpus all",
        f"I used to pass my card to a VM, and the host says {X}",
        f"{X} fixed with float16, next: {X}",
        f"How is this solved: {X}",
        f"{X}\n\nThe other error is fixed now.",
        f"The old error is fixed now.\n\n{X}",
        X,
    ],
)
def test_what_is_not_plainly_over_stays(text: str) -> None:
    assert X in kept(text)


def test_of_two_errors_in_a_line_the_present_one_is_raised() -> None:
    torch = "Torch not compiled with CUDA enabled"
    text = f'Last week docker said "{X} with capabilities: [[gpu]]", which is solved, but now torch says {torch}.'
    assert raised(text) == ["torch-cpu-only-build"]
    assert raised(f"I used to get AssertionError: {torch}. It is fixed now, how do I make it faster?") == []


def test_words_between_clauses_stay_where_no_clause_is_past() -> None:
    text = "the package is there but only as a dependency, although another is fixed in 2.1"
    assert kept(text) == text


def test_a_long_paste_is_looked_at_in_pieces() -> None:
    rows = [(n, f"line {n}") for n in range(1, 3001)]
    assert list(without(iter(rows))) == rows
    fenced = [(1, "```"), *((n, X) for n in range(2, 1000)), (1000, "```"), (1001, "That is fixed now.")]
    told = list(without(iter(fenced)))
    assert [number for number, _ in told] == list(range(1, 1002))
    assert told[1][1] == X
