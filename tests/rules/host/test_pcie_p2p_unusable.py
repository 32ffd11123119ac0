"""GPU-to-GPU copies: what was tried says more than a hang alone."""

from __future__ import annotations

from doctor.findings import Finding, Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.host import pcie_p2p_unusable
from tests.knowledge.texts import raised

CARDS = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A5000\nGPU 1: NVIDIA RTX A5000\n"


def found(text: str) -> list[Finding]:
    return list(pcie_p2p_unusable.check(read_text([text.encode()]), Knowledge(), None))


def test_a_hang_alone_is_a_suspicion() -> None:
    (finding,) = found(CARDS + "all_reduce_perf hangs")
    assert (finding.severity, bool(finding.suspect)) == (Severity.INFO, True)


def test_a_hang_that_is_gone_without_peer_copies_is_told() -> None:
    (finding,) = found(CARDS + "all_reduce_perf hangs\nwith NCCL_P2P_DISABLE=1 it runs through")
    assert (finding.severity, bool(finding.suspect)) == (Severity.WARNING, False)


def test_a_level_that_allows_no_peer_copies_is_the_same() -> None:
    hangs = CARDS + "all_reduce_perf hangs\n"
    for line, severity in (
        ("with NCCL_P2P_LEVEL=LOC the test finishes", Severity.WARNING),
        ("with NCCL_P2P_LEVEL=LOC it never finishes either", Severity.INFO),
        ("NCCL_P2P_LEVEL=PIX finishes", Severity.INFO),
    ):
        (finding,) = found(hangs + line)
        assert finding.severity is severity, line


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


def test_copies_that_carried_collectives_are_usable() -> None:
    went_on = (
        "distributed training hangs after the first epoch",
        "DDP is stuck at saving the model",
        "Training finishes, then NCCL hangs",
        "NCCL hangs\nWatchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE)",
    )
    for text in went_on:
        assert not found(CARDS + text), text
        assert pcie_p2p_unusable.unheard(read_text([(CARDS + text).encode()])), text
        helped = f"{CARDS}{text}\nwith NCCL_P2P_DISABLE=1 it works"
        assert found(helped), text
        assert not pcie_p2p_unusable.unheard(read_text([helped.encode()])), text
    for text in ("DDP hangs in the first epoch", "NCCL hangs: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)"):
        assert found(CARDS + text), text
        assert not pcie_p2p_unusable.unheard(read_text([(CARDS + text).encode()])), text
    assert found(CARDS + "the model gives NaN on two cards, after 300 steps it hangs")


def test_a_hang_at_full_use_after_work_went_on() -> None:
    hang = "it hangs{}, both GPUs show 100%"
    assert "pcie-p2p-unusable" in raised(CARDS + hang.format(""))
    assert "pcie-p2p-unusable" not in raised(CARDS + hang.format(" after the second epoch"))
