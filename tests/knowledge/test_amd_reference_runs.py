"""A run without the GPU that is meant, and AITER's words for work it has no kernel for: one cause, or none."""

from __future__ import annotations

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge

GPU = "Name: gfx942\nMarketing Name: AMD Instinct MI300X\n"
CARD = (
    "*******\nAgent 2\n*******\n  Name:                    gfx803\n"
    "  Vendor Name:             AMD\n  Device Type:             GPU\n"
)


def told(text: str) -> list[str]:
    report = judge(read_text([text.encode()]), Knowledge())
    return [f.rule for f in report.findings if f.severity is not Severity.INFO and not f.explained_by]


def test_a_run_on_the_cpu_as_the_reference_is_meant() -> None:
    line = "with HIP_VISIBLE_DEVICES=-1 it runs on the CPU"
    assert "visible-devices-conflict" not in told(f"{GPU}{line} as the reference, the values differ\n")
    assert "visible-devices-conflict" in told(f"{GPU}{line}\n")


def test_aiters_words_name_its_release_alone() -> None:
    assert told(f"{GPU}RuntimeError: This GEMM is not supported!\n") == ["companion-kernel-lib-outdated"]
    other = "DeviceGemm_Xdl_CShuffle does not support this problem"
    assert "library-missing-gpu-arch" in told(f"{GPU}RuntimeError: {other}\n")


def test_another_gpu_is_a_comparison_where_a_solver_is_at_fault() -> None:
    other = f"{CARD}Segmentation fault (core dumped)\nthe results are correct with HIP_VISIBLE_DEVICES=1\n"
    assert "integrated-gpu-conflict" in told(other)
    both = f"{other}MIOPEN_DEBUG_CONV_DIRECT_ASM_1X1U=0 gives the correct result\n"
    assert "integrated-gpu-conflict" not in told(both)
