"""iommu-not-passthrough: a translation that somebody turned on, and work on several GPUs that hangs."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from doctor.rules.host import iommu_not_passthrough as rule
from tests.knowledge.texts import told as told_of
from tests.rules.driver.asked import told

TWO = "GPU 0: NVIDIA RTX A6000 (UUID: GPU-1)\nGPU 1: NVIDIA RTX A6000 (UUID: GPU-2)\n"
HANG = "multi-GPU training hangs at the first all_reduce\n"


def levels(cmdline: str, text: str = HANG) -> list[str]:
    pasted = f"```\n{TWO}```\n\n{text}\n```\n$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz ro {cmdline}\n```\n"
    return [row[0] for row in told(rule, read_text([pasted.encode()]))]


@pytest.mark.parametrize("word", ["amd_iommu=on", "intel_iommu=on"])
def test_a_translation_that_was_turned_on_beside_a_hang(word: str) -> None:
    assert levels(word) == ["warning"]


def test_pass_through_silence_and_work_that_goes_on_are_no_fault() -> None:
    assert levels("amd_iommu=on iommu=pt") == []
    assert levels("quiet") == []
    assert levels("intel_iommu=on", "training runs\n") in ([], ["info"])


def test_silence_beside_a_hang_is_enough_on_amd_processors() -> None:
    def raised(cpu: str, cmdline: str) -> list[str]:
        system = f"System:\n```\nOS: Ubuntu 22.04\nCPU: {cpu}\n```\n"
        pasted = f"{system}```\n{TWO}```\n\n{HANG}\n```\n$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz ro {cmdline}\n```\n"
        return told_of(pasted)

    assert raised("AMD EPYC 7543", "quiet") == ["iommu-not-passthrough"]
    assert "iommu-not-passthrough" not in raised("Intel Xeon Gold 6226R", "quiet")
    assert "iommu-not-passthrough" not in raised("AMD EPYC 7543", "iommu=pt")
    assert "iommu-not-passthrough" not in raised("AMD EPYC 7543", "amd_iommu=off")
