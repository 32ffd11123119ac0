"""Where torch has no code for the GPU, a library named beside the same error is no second cause."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text


def loud(text: str) -> list[str]:
    report = judge(read_text([text.encode()]), Knowledge())
    return [f.rule for f in report.findings if f.severity.value in ("error", "warning") and not f.explained_by]


ERROR = 'The demo dies with "no kernel image is available for execution on the device" in xformers.'


@pytest.mark.parametrize(
    ("stack", "rule"),
    [
        ("I have a GTX 1070 and torch 2.8.0+cu128.", "torch-missing-gpu-arch"),
        ("I have an RTX 3090 and torch 2.8.0+cu128.", "library-missing-gpu-arch"),
    ],
)
def test_one_cause_is_named(stack: str, rule: str) -> None:
    assert loud(f"{stack}\n{ERROR}\n") == [rule]
