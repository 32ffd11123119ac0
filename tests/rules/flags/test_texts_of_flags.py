"""Flag and BLAS rules on what users paste: each fires, nearly misses, and is silent where the text does not tell."""

# ruff: noqa: E501

from __future__ import annotations

from types import ModuleType

import pytest

from doctor.engine.judge import judge
from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.rules.blas import (
    blas_kernels_missing,
    hipblaslt_not_selected,
    hipblaslt_unsupported_arch,
    tunableop_misconfigured,
)
from doctor.rules.flags import (
    allocator_flag_unsupported,
    collective_flag_misconfigured,
    debug_flag_left_on,
    env_flag_unknown_or_renamed,
    env_flag_wrong_for_gpu,
    hsa_override_misuse,
    visible_devices_conflict,
)
from doctor.triage.read import read_text
from tests.each import each
from tests.knowledge.texts import raised

HIP = "\nRuntimeError: HIP error: invalid device function\n"
ROCMINFO = "  Name:                    {}\n  Device Type:             GPU\n"
RX7900, MI300, RX9070, RX6700 = (ROCMINFO.format(gfx) for gfx in ("gfx1100", "gfx942", "gfx1201", "gfx1031"))
EIGHT = "".join(
    f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: GPU-{n}1111111-2222-3333-4444-555555555555)\n" for n in range(8)
)
Row = tuple[ModuleType, str, str]

ROWS: dict[str, Row] = {
    "override of another family, inline": (
        hsa_override_misuse,
        RX9070 + "HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py" + HIP,
        RX6700 + "HSA_OVERRIDE_GFX_VERSION=10.3.0 python main.py" + HIP,
    ),
    "override that is no version": (
        hsa_override_misuse,
        RX6700 + "export HSA_OVERRIDE_GFX_VERSION=gfx1030" + HIP,
        RX6700 + "export HSA_OVERRIDE_GFX_VERSION=10.3.0" + HIP,
    ),
    "an index beyond the GPUs": (
        visible_devices_conflict,
        EIGHT + "export CUDA_VISIBLE_DEVICES=8\nRuntimeError: No CUDA GPUs are available\n",
        EIGHT + "export CUDA_VISIBLE_DEVICES=7\nRuntimeError: No CUDA GPUs are available\n",
    ),
    "lists on top of each other": (
        visible_devices_conflict,
        RX7900
        + "export ROCR_VISIBLE_DEVICES=1\nexport HIP_VISIBLE_DEVICES=1\nRuntimeError: No HIP GPUs are available\n",
        RX7900 + "export ROCR_VISIBLE_DEVICES=0\nexport HIP_VISIBLE_DEVICES=0\n",
    ),
    "blocking launches and slow": (
        debug_flag_left_on,
        EIGHT + "export CUDA_LAUNCH_BLOCKING=1\ntraining is 3x slower than before\n",
        EIGHT + "export CUDA_LAUNCH_BLOCKING=0\ntraining is 3x slower than before\n",
    ),
    "an allocator that this build lacks": (
        allocator_flag_unsupported,
        "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True\nUserWarning: expandable_segments not supported on this platform\n",
        "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\n",
    ),
    "an option nobody knows": (
        allocator_flag_unsupported,
        "export PYTORCH_CUDA_ALLOC_CONF=max_split_size:128\n",
        "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,garbage_collection_threshold:0.8\n",
    ),
    "an interface that is not there": (
        collective_flag_misconfigured,
        "export NCCL_SOCKET_IFNAME=ib0\nNCCL WARN Bootstrap : no socket interface found\n",
        "export NCCL_SOCKET_IFNAME=eno1\nNCCL INFO Bootstrap : Using eno1:10.0.0.2<0>\n",
    ),
    "the loopback between nodes": (
        collective_flag_misconfigured,
        "export NCCL_SOCKET_IFNAME=lo\ntorchrun --nnodes=2 --nproc-per-node=8 train.py\nNCCL INFO Bootstrap : Using lo:127.0.0.1<0>\nNCCL WARN socketStartConnect: Connect to 127.0.0.1<40001> failed : Connection refused\n",
        "export NCCL_SOCKET_IFNAME=bond0\ntorchrun --nnodes=2 --nproc-per-node=8 train.py\n",
    ),
    "a flag under its old name": (
        env_flag_unknown_or_renamed,
        "export PYTORCH_ROC_ALLOC_CONF=max_split_size_mb:128\ntorch==2.6.0\n",
        "export NCCL_ASYNC_ERROR_HANDLING=1\ntorch==2.6.0\n",
    ),
    "a flag with a slip of the pen": (
        env_flag_unknown_or_renamed,
        "export HSA_OVERRIDE_GFX_VERISON=10.3.0\n" + RX6700,
        "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n" + RX6700,
    ),
    "AITER on RDNA": (
        env_flag_wrong_for_gpu,
        RX7900 + "export VLLM_ROCM_USE_AITER=1\nRuntimeError: Unknown GPU architecture: gfx1100\n",
        MI300 + "export VLLM_ROCM_USE_AITER=1\n",
    ),
    "hipBLASLt on a GPU without it": (
        hipblaslt_unsupported_arch,
        RX6700
        + "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas\n",
        MI300 + "torch==2.6.0+rocm6.2.4\n",
    ),
    "no kernels of rocBLAS": (
        blas_kernels_missing,
        RX6700
        + "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1031\n",
        MI300 + "rocBLAS version 4.2.0\n",
    ),
    "slow with rocBLAS": (
        hipblaslt_not_selected,
        MI300
        + "torch==2.6.0+rocm6.2.4\nexport TORCH_BLAS_PREFER_HIPBLASLT=0\ngemm is slower than expected: 20 tflops\n",
        MI300
        + "torch==2.6.0+rocm6.2.4\nexport TORCH_BLAS_PREFER_HIPBLASLT=1\ngemm is slower than expected: 20 tflops\n",
    ),
    "results of another ROCm": (
        tunableop_misconfigured,
        MI300 + "export PYTORCH_TUNABLEOP_ENABLED=1\nresults validator check failed\n",
        MI300
        + "export PYTORCH_TUNABLEOP_ENABLED=1\nexport PYTORCH_TUNABLEOP_TUNING=0\nexport PYTORCH_TUNABLEOP_FILENAME=/data/t.csv\n",
    ),
}


def _found(rule: ModuleType, text: str) -> list[Finding]:
    """Findings of this rule, by its check and by the signatures that point to it; words alone raise nothing here."""
    machine = read_text([text.encode()]).model_copy(update={"resembles": ()})
    return [f for f in judge(machine, Knowledge()).findings if f.rule == rule.RULE.id]


@each("name", ROWS)
def test_it_fires(name: str) -> None:
    assert _found(ROWS[name][0], ROWS[name][1])


@each("name", ROWS)
def test_it_nearly_misses(name: str) -> None:
    loud = [f for f in _found(ROWS[name][0], ROWS[name][2]) if f.severity.value != "info"]
    assert loud == []


@each("name", ROWS)
def test_a_text_that_tells_nothing(name: str) -> None:
    assert (
        _found(ROWS[name][0], "PyTorch version: 2.6.0\nIs CUDA available: True\nTraceback (most recent call last)\n")
        == []
    )


@pytest.mark.parametrize(
    ("torch", "said", "command"),
    [
        ("2.9.1+cu128", "options from PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        ("2.9.1+rocm6.4", "no expandable_segments on ROCm", "-u"),
    ],
)
def test_the_new_name_on_an_old_torch_is_renamed_where_that_helps(torch: str, said: str, command: str) -> None:
    text = f"$ PYTORCH_ALLOC_CONF=expandable_segments:True python t.py\ntorch {torch}\n"
    findings = judge(read_text([text.encode()]), Knowledge()).findings
    (finding,) = (f for f in findings if f.rule == "allocator-flag-unsupported")
    assert said in finding.summary
    assert command in (finding.remedies[0].steps[0].command or ())


def test_no_one_asks_for_a_hipblaslt_that_torch_refuses_on_the_gpu() -> None:
    text = "Radeon RX 9070 XT, torch 2.6.0+rocm6.2.4: matrix products are slow\n"
    findings = judge(read_text([text.encode()]), Knowledge()).findings
    assert "hipblaslt-not-selected" not in {f.rule for f in findings}


def test_a_misspelt_list_of_gpus_is_a_warning_and_another_slip_is_not() -> None:
    def severities(line: str) -> list[str]:
        findings = judge(read_text([line.encode()]), Knowledge()).findings
        return [f.severity.value for f in findings if f.rule == "env-flag-unknown-or-renamed"]

    assert severities("export CUDA_VISIBLE_DEVISES=3\n") == ["warning"]
    assert severities("export NCCL_DEBGU=INFO\n") == ["info"]


def test_what_is_gone_and_turned_off_is_not_suspected() -> None:
    for value, suspect in (("0", 0), ("1", 4)):
        text = f"$ pip list\nPackage    Version\n---------- -------\nvllm 0.13.0\n\n$ env\nVLLM_USE_TRITON_FLASH_ATTN={value}\n"
        findings = [*env_flag_unknown_or_renamed.check(read_text([text.encode()]), Knowledge(), None)]
        assert [f.suspect for f in findings] == [suspect], value


TURING = "GPU 0: Tesla T4\ncompute capability: sm_75\n"
AMPERE = "GPU 0: NVIDIA A100\ncompute capability: sm_80\n"
ONLY = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"


def test_an_attention_backend_that_the_gpu_has_not() -> None:
    for chosen in ("FLASH_ATTN", "FLASHINFER"):
        backend = f"export VLLM_ATTENTION_BACKEND={chosen}\n"
        assert raised(ONLY + TURING + backend) == ["env-flag-wrong-for-gpu"], chosen
        assert "env-flag-wrong-for-gpu" not in raised(ONLY + AMPERE + backend), chosen
    assert raised(ONLY + TURING) == ["library-missing-gpu-arch"]  # nobody chose it
    assert "env-flag-wrong-for-gpu" not in raised(ONLY + TURING + "export VLLM_ATTENTION_BACKEND=XFORMERS\n")
