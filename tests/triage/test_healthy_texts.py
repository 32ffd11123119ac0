"""Texts that tell of no fault of the GPU's stack: other people's errors, remarks of programs, things that work. None of
them is told an error or a warning, whatever the word model thinks of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.engine.judge import judge
from doctor.findings import Severity
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text
from tests.each import each

TEXTS = [json.loads(line)["text"] for line in Path(__file__).with_name("healthy_texts.jsonl").read_text().splitlines()]
KB = Knowledge()


@each("text", TEXTS)
def test_nothing_is_raised(text: str) -> None:
    findings = judge(read_text([text.encode()]), KB).findings
    assert [f.rule for f in findings if f.severity is not Severity.INFO and not f.explained_by] == []


@pytest.mark.parametrize("fault", ["CUDA error: no kernel image is available for execution on the device"])
def test_a_fault_beside_them_is_raised(fault: str) -> None:
    findings = judge(read_text([f"{TEXTS[0]}\n{fault}\n".encode()]), KB).findings
    assert any(f.severity is not Severity.INFO for f in findings)
