"""What is said of one variable: its name, its text, whether anything reads it, and what it is set with."""

from __future__ import annotations

import pytest

from doctor.findings import Finding
from doctor.flags import lint
from tests.flags.situations import of


def said(line: str) -> list[tuple[str, str, str]]:
    return [(f.severity.value, f.rule, f.summary) for f in lint.findings(of(line))]


def only(line: str, name: str) -> Finding:
    (finding,) = [f for f in lint.findings(of(line)) if f.subject.id == name]
    return finding


@pytest.mark.parametrize(
    ("line", "name", "rule", "fix"),
    [
        ("NCCL_P2P_DISABLE=true", "NCCL_P2P_DISABLE", "collective-flag-misconfigured", "Write NCCL_P2P_DISABLE=1."),
        ("NCCL_IB_DISABEL=1", "NCCL_IB_DISABEL", "env-flag-unknown-or-renamed", "Use NCCL_IB_DISABLE."),
        (
            "HSA_NO_SCRATCH_RECLAIM=yes",
            "HSA_NO_SCRATCH_RECLAIM",
            "env-value-misread",
            "Write HSA_NO_SCRATCH_RECLAIM=1.",
        ),
        (
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:true",
            "PYTORCH_CUDA_ALLOC_CONF",
            "allocator-flag-unsupported",
            "Write it as pytorch reads it, or unset PYTORCH_CUDA_ALLOC_CONF.",
        ),
        ("TORCH_NCCL_BLOCKING_WAIT=off", "TORCH_NCCL_BLOCKING_WAIT", "collective-flag-misconfigured", "Write "),
    ],
)
def test_a_fault_names_its_cure(line: str, name: str, rule: str, fix: str) -> None:
    finding = only(line, name)
    assert finding.rule == rule
    assert finding.remedies[0].title.startswith(fix)
    assert finding.subject.id == name


def test_the_evidence_is_what_is_set_in_no_words_of_the_lint() -> None:
    assert [e.text for e in only("NCCL_P2P_DISABLE=true", "NCCL_P2P_DISABLE").evidence] == ["NCCL_P2P_DISABLE=true"]


def test_a_removed_name_is_removed_for_a_version_that_has_no_more_of_it() -> None:
    assert "has no effect" in only("VLLM_USE_V1=1 pkg:vllm=0.33.0", "VLLM_USE_V1").summary
    assert said("VLLM_USE_V1=1 pkg:vllm=0.8.5") == []


def test_a_flag_that_nothing_here_reads() -> None:
    finding = only("VLLM_ROCM_USE_AITER_MLA=1 VLLM_ROCM_USE_AITER=1 gpu=H100", "VLLM_ROCM_USE_AITER")
    assert "on AMD GPUs only" in finding.summary
    assert said("VLLM_USE_DEEP_GEMM=1 gpu=H100 pkg:torch=2.10")[0][2].endswith("vllm is not installed.")
    assert said("VLLM_USE_DEEP_GEMM=1 gpu=H100") == []


def test_set_but_empty() -> None:
    assert said("NCCL_IB_HCA=") == []
    assert [s[0] for s in said("VLLM_USE_DEEP_GEMM=")] == ["error"]


def test_healthy_environments_say_nothing() -> None:
    """As images of CUDA and ROCm have them."""
    cuda = "NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility CUDA_VERSION=12.8.1 NV_CUDA_LIB=x "
    cuda += "NVIDIA_REQUIRE_CUDA='cuda>=12.8' NVIDIA_PRODUCT_NAME=CUDA NCCL_VERSION=2.25.1 gpu=H100"
    assert said(cuda) == []
    assert said("HIP_FORCE_DEV_KERNARG=1 ROCM_PATH=/opt/rocm PYTORCH_ROCM_ARCH=gfx942 gpu=MI300X rocm=7.2") == []
    assert said("PATH=/usr/bin HOME=/root LANG=C.UTF-8") == []


def test_slurm_says_no_gpu_with_an_empty_list() -> None:
    assert said("ROCR_VISIBLE_DEVICES= SLURM_JOB_ID=1") == []
    assert said("ROCR_VISIBLE_DEVICES=")[0][0] == "error"


@pytest.mark.parametrize(("gpu", "reader"), [("", ""), (" gpu=H100", ""), (" gpu=MI300X", "(hip-clr)")])
def test_a_list_of_gpus_is_read_as_the_vendor_at_hand_reads_it(gpu: str, reader: str) -> None:
    """MIG's names are NVIDIA's; HIP ends the list there."""
    found = [text for _, _, text in said(f"CUDA_VISIBLE_DEVICES=MIG-3f1a{gpu}") if " ends at " in text]
    assert [text.endswith(f"{reader}.") for text in found] == ([True] if reader else [])
