"""iommu-not-passthrough: a translation that somebody turned on, and work on several GPUs that hangs."""

from __future__ import annotations

from doctor.rules.host import iommu_not_passthrough as rule
from doctor.triage.read import read_text
from tests.rules.driver.asked import told

TWO = "GPU 0: NVIDIA RTX A6000 (UUID: GPU-1)\nGPU 1: NVIDIA RTX A6000 (UUID: GPU-2)\n"
HANG = "multi-GPU training hangs at the first all_reduce\n"


def levels(cmdline: str, text: str = HANG) -> list[str]:
    pasted = f"```\n{TWO}```\n\n{text}\n```\n$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz ro {cmdline}\n```\n"
    return [row[0] for row in told(rule, read_text([pasted.encode()]))]


def test_pass_through_silence_and_work_that_goes_on_are_no_fault() -> None:
    assert levels("amd_iommu=on iommu=pt") == []
    assert levels("quiet") == []
    assert levels("intel_iommu=on", "training runs\n") in ([], ["info"])
