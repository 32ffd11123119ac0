"""GPU-to-GPU copies: what was tried says more than a hang alone."""

from __future__ import annotations

from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.rules.host import pcie_p2p_unusable
from doctor.triage.read import read_text

CARDS = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A5000\nGPU 1: NVIDIA RTX A5000\n"


def found(text: str) -> list[Finding]:
    return list(pcie_p2p_unusable.check(read_text([text.encode()]), Knowledge(), None))


def test_one_gpu_has_no_peer() -> None:
    assert not found(CARDS.split("GPU 1")[0] + "all_reduce_perf hangs\nwith NCCL_P2P_DISABLE=1 it runs through")
