"""The whole text at two widths. DOCTOR_UPDATE_GOLDEN=1 rewrites the golden files; read the diff."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from doctor.findings import Finding, Scope, Subject
from doctor.report.terminal import Look, render
from doctor.rules.lib.advice import command
from tests.report.example import HOSTILE, report

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize(
    ("name", "look", "verbose"),
    [
        ("report-80", Look(width=80), 0),
        ("report-40", Look(width=40), 0),
        ("report-80-v", Look(width=80), 1),
    ],
)
def test_whole_text(name: str, look: Look, verbose: int) -> None:
    path = GOLDEN / f"{name}.txt"
    text = render(report(), look, verbose)
    if os.environ.get("DOCTOR_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_only_words_that_cannot_be_broken_and_commands_pass_the_width() -> None:
    for line in render(report(), Look(width=40)).splitlines():
        assert len(line) <= 40 or line.lstrip().startswith(("sudo ", "Undo: ")) or len(line.split()) <= 4


def test_colour_changes_no_word() -> None:
    coloured = render(report(), Look(width=80, colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(report(), Look(width=80))


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_hostile_reaches_the_terminal(colour: bool) -> None:
    text = render(report(HOSTILE), Look(width=80, colour=colour), 2)
    ours = re.sub(r"\x1b\[[0-9;]*m", "", text) if colour else text
    assert "\x1b[31mred" not in text
    assert not set("\x1b\x07\u202e\u2028") & set(ours)
    assert "[red]markup[/red]" in text
    assert "plainword" not in text


def test_findings_that_need_the_same_fix_share_it() -> None:
    """Each names its own GPU, or the rule; why another rule matters is printed."""
    first = Finding(rule="gpu-throttled", summary="A is hot.", why="Slow.", subject=Subject(kind="gpu", id="a:1"),
                    remedies=(command("Cool a:1.", Scope.HARDWARE, "nvidia-smi", "-i", "a:1"),))  # fmt: skip
    other = first.model_copy(update={"summary": "B is hot.", "subject": Subject(kind="gpu", id="b:2"),
                                     "remedies": (command("Cool b:2.", Scope.HARDWARE, "nvidia-smi", "-i", "b:2"),)}
                             )  # fmt: skip
    third = other.model_copy(update={"rule": "gpu-ecc-errors"})
    shown = report().model_copy(update={"findings": (first, other, third)})
    text = render(shown, Look(width=80))
    assert (text.count("Slow."), text.count("nvidia-smi -i")) == (2, 1)
    assert "  Fix: as above, for b:2 (-v)\n" in text
    assert "  Fix: as above, see gpu-throttled (-v)\n" in text
    assert render(shown, Look(width=80), 1).count("nvidia-smi -i") == 3


def test_without_unicode_all_is_ascii() -> None:
    assert render(report(HOSTILE), Look(width=80, unicode=False), 2).isascii()
