"""Errors of a program's own code are read as such: they name no cause, and words beside them accuse nothing."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "user-error-shapes": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x4)",
    "user-error-tensor-device": "RuntimeError: Expected all tensors to be on the same device, but found two",
    "user-error-graph": "RuntimeError: Trying to backward through the graph a second time",
    "user-error-ranks-apart": "RuntimeError: Detected mismatch between collectives on ranks.",
    "user-error-tensor-type": "RuntimeError: expected scalar type Half but found Float",
    "user-error-index": "NLLLoss.cu:250: nll: Assertion `t >= 0 && t < n_classes` failed.",
    "user-error-state-dict": "RuntimeError: Error(s) in loading state_dict for Net:",
    "user-error-attention-shape": "RuntimeError: FlashAttention forward only supports head dimension at most 256",
    "user-error-order-of-steps": "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.",
    "user-error-read-only-array": "UserWarning: The given NumPy array is not writable",
    "user-error-loss": "after 200 steps the loss becomes NaN",
    "user-error-name-of-model": "OSError: x/y is not a local folder and is not a valid model identifier",
    "all-works-told": "everything works, is that a problem?",
    "use-is-low-told": "the GPU utilization is low, it waits for the data loader",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom_and_points_to_nothing(key: str) -> None:
    assert key in {hit.key for hit in SYMPTOMS.find([(1, EXAMPLES[key])])}
    assert SYMPTOMS.signatures[key].points_to == ()


@pytest.mark.parametrize("key", [k for k in EXAMPLES if k.startswith("user-error-")])
def test_nothing_of_the_machine_is_accused(key: str) -> None:
    text = f"My training on two GPUs stops in a container and I do not know why.\n{EXAMPLES[key]}\nWhat is wrong here?"
    report = judge(read_text([text.encode()]), Knowledge())
    assert [f.rule for f in report.findings if f.severity is not Severity.INFO] == []


def test_an_error_of_the_machine_beside_it_is_told() -> None:
    text = "RuntimeError: expected scalar type Half but found Float\nOSError: [Errno 24] Too many open files"
    report = judge(read_text([text.encode()]), Knowledge())
    assert "nofile-limit-too-low" in [f.rule for f in report.findings if f.severity is not Severity.INFO]
