"""A setting that a rule only remarked is the one warning of a text that complains, where the words speak for it too."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import raised

UNKNOWN = "WARNING 06-26 15:11:37 [envs.py:1830] Unknown vLLM environment variable detected: VLLM_USE_V1\n"
UNREAD = "serving falls back to another attention backend\nexport VLLM_V1_USE_PREFILL_DECODE_ATTENTION=1\n"


@pytest.mark.parametrize("text", [UNKNOWN + "export VLLM_USE_V1=1\n", UNREAD + "export VLLM_USE_V1=1\n"])
def test_a_setting_that_was_written_down_beside_a_complaint(text: str) -> None:
    assert raised(text) == ["env-flag-unknown-or-renamed"]


def test_a_setting_beside_a_cause_that_is_told_stays_a_remark() -> None:
    lost = "NVRM: Xid (PCI:0000:41:00): 79, pid=1234, GPU has fallen off the bus.\n"
    assert raised(lost + "export VLLM_USE_V1=1\n") == ["nvidia-xid-fatal"]


def test_a_flag_that_looks_for_a_fault_stays_a_remark() -> None:
    assert raised("Segmentation fault (core dumped)\n$ env\nCUDA_LAUNCH_BLOCKING=1\n") == []


def test_words_that_leave_no_doubt_are_heard_though_no_complaint_was_recognised() -> None:
    text = "rocThrust: no matching function for call to operator new\ngcc 7.0 is used with clang\n"
    assert raised(text) == ["host-compiler-unsupported"]
    assert raised(f"{text}with another one it works\n") == []
