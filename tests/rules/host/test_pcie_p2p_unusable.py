"""GPU-to-GPU copies: what was tried says more than a hang alone."""

from __future__ import annotations

from doctor.findings import Finding, Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.host import pcie_p2p_unusable

CARDS = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A5000\nGPU 1: NVIDIA RTX A5000\n"


def found(text: str) -> list[Finding]:
    return list(pcie_p2p_unusable.check(read_text([text.encode()]), Knowledge(), None))


def test_a_hang_alone_is_a_suspicion() -> None:
    (finding,) = found(CARDS + "all_reduce_perf hangs")
    assert (finding.severity, bool(finding.suspect)) == (Severity.INFO, True)


def test_a_hang_that_is_gone_without_peer_copies_is_told() -> None:
    (finding,) = found(CARDS + "all_reduce_perf hangs\nwith NCCL_P2P_DISABLE=1 it runs through")
    assert (finding.severity, bool(finding.suspect)) == (Severity.WARNING, False)


def test_one_gpu_has_no_peer() -> None:
    assert not found(CARDS.split("GPU 1")[0] + "all_reduce_perf hangs\nwith NCCL_P2P_DISABLE=1 it runs through")


def test_wrong_values_of_compiled_code_are_the_compilers() -> None:
    assert not found(CARDS + "torch.var compiled with inductor gives NaN; eager is right")
    for line in (
        "our own kernel gives wrong results for some block sizes",
        "garbage output with the default backend when autotune is on",
        "the Triton tutorial prints wrong results",
    ):
        assert not found(CARDS + line), line
    (finding,) = found(CARDS + "the model gives NaN on two cards")
    assert finding.severity is Severity.WARNING


def test_compiled_code_that_is_right_without_peer_copies_is_told() -> None:
    (finding,) = found(CARDS + "torch.compile gives NaN\nwith NCCL_P2P_DISABLE=1 it works")
    assert not finding.suspect
