"""Releases with a known fault, each in a text where it shows and in one like it where it doesn't."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge.faults import Fault, faults
from doctor.knowledge.library_faults import library_faults
from tests.knowledge.texts import KB, told
from tests.rules.machines import build

INVALID = (
    "RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, opa, opb, m, n, k`\n"
)
ILLEGAL = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
HANGS = "The training hangs in an all_reduce of NCCL.\n"
H100 = "GPU 0: NVIDIA H100 80GB HBM3\n"
A100 = "GPU 0: NVIDIA A100-SXM4-80GB\n"
B200 = "GPU 0: NVIDIA B200\n"
MI300X = "GPU 0: AMD Instinct MI300X (gfx942)\n"
MI355X = "GPU 0: AMD Instinct MI355X (gfx950)\n"
WRONG = "The gradients are wrong.\n"


def loud(text: str) -> list[str]:
    """Subjects of what is an error or a warning."""
    findings = judge(read_text([text.encode()]), KB).findings
    return [f.subject.id for f in findings if f.severity is not Severity.INFO and not f.explained_by]


def pip(*packages: str) -> str:
    return "".join(f"[pip3] {package}\n" for package in packages)


SHOWN = {
    "cublas-12.8-torch-2.10": (
        INVALID + H100 + pip("nvidia-cublas-cu12==12.8.4.1", "torch==2.10.0"),
        INVALID + H100 + pip("nvidia-cublas-cu12==12.9.1.4", "torch==2.10.0"),
    ),
    "torch-2.7.0-device-id": (
        'init_process_group("nccl", device_id=device)\n' + HANGS + "PyTorch version: 2.7.0+cu126\n" + H100,
        'init_process_group("nccl")\n' + HANGS + "PyTorch version: 2.7.0+cu126\n" + H100,
    ),
    "nccl-2.27.7-ras": (
        "Segmentation fault\n 3 libnccl.so.2(rasMsgHandlePeersUpdate+0x12)\n" + H100 + pip("nvidia-nccl-cu12==2.27.7"),
        "Segmentation fault\n 3 libnccl.so.2(rasMsgHandlePeersUpdate+0x12)\n" + H100 + pip("nvidia-nccl-cu12==2.28.9"),
    ),
    "nccl-2.26.2-ras": (
        "ncclras is asked at start-up, and the job crashes\n" + H100 + pip("nvidia-nccl-cu12==2.26.2"),
        "The job crashes at start-up\n" + H100 + pip("nvidia-nccl-cu12==2.26.2"),
    ),
    "nccl-2.25.1-abort": (
        "ncclCommAbort hangs once a peer is dead\n" + H100 + pip("nvidia-nccl-cu12==2.25.1"),
        "ncclCommAbort hangs once a peer is dead\n" + H100 + pip("nvidia-nccl-cu12==2.26.2"),
    ),
    "nccl-2.17.1-abort": (
        "destroy_process_group hangs in ncclCommAbort\n" + A100 + pip("nvidia-nccl-cu12==2.17.1"),
        "destroy_process_group hangs\n" + A100 + pip("nvidia-nccl-cu12==2.17.1"),
    ),
    "nccl-graph-queue": (
        "All ranks hang:\n    waitWorkFifoAvailable (enqueue.cc:745)\n" + H100 + pip("nvidia-nccl-cu12==2.20.5"),
        "All ranks hang:\n    waitWorkFifoAvailable (enqueue.cc:745)\n" + H100 + pip("nvidia-nccl-cu12==2.22.3"),
    ),
    "nccl-2.13-launch-blocking": (
        "DDP hangs with CUDA_LAUNCH_BLOCKING=1\n" + A100 + pip("nvidia-nccl-cu11==2.14.3"),
        "DDP hangs with CUDA_LAUNCH_BLOCKING=1\n" + A100 + pip("nvidia-nccl-cu11==2.18.3"),
    ),
    "torch-1.13-launch-blocking": (
        "DDP hangs with CUDA_LAUNCH_BLOCKING=1\nPyTorch version: 1.13.1+cu117\n" + A100,
        "DDP hangs with CUDA_LAUNCH_BLOCKING=1\nPyTorch version: 2.1.2+cu121\n" + A100,
    ),
    "nccl-2.19.4-slow": (
        "all_reduce over NCCL is slower than before, busbw halved\n" + H100 + pip("nvidia-nccl-cu12==2.19.4"),
        "the data loader is slower than before\n" + H100 + pip("nvidia-nccl-cu12==2.19.4"),
    ),
    "torch-2.6-rocm-attention-mask": (
        "wrong outputs of scaled_dot_product_attention with attn_mask\nPyTorch version: 2.6.0+rocm6.2.4\n" + MI300X,
        "wrong outputs of scaled_dot_product_attention with attn_mask\nPyTorch version: 2.7.1+rocm6.3\n" + MI300X,
    ),
    "rocm-7.14-attention-gfx1201": (
        "blank images; sdpa returns NaN\nPyTorch version: 2.12.0+rocm7.14.0\nGPU 0: RX 9070 XT (gfx1201)\n",
        "blank images; sdpa returns NaN\nPyTorch version: 2.12.0+rocm7.14.0\nGPU 0: RX 7900 XTX (gfx1100)\n",
    ),
    "torch-2.12-norm-rdna": (
        WRONG + "It is LayerNorm's weight.\nPyTorch version: 2.12.1+rocm7.2\nGPU 0: RX 7900 XTX (gfx1100)\n",
        WRONG + "It is LayerNorm's weight.\nPyTorch version: 2.12.1+rocm7.2\n" + MI300X,
    ),
    "triton-3.7.0-conv-backward": (
        "in convolution2d_bwd_weight\n" + ILLEGAL + B200 + pip("triton==3.7.0"),
        "in convolution2d_bwd_weight\n" + ILLEGAL + B200 + pip("triton==3.7.1"),
    ),
    "rccl-small-all-reduce-mi350": (
        "all_reduce of RCCL gives wrong results for small tensors\nROCm version: 7.1.0\n" + MI355X,
        "all_reduce of RCCL gives wrong results for small tensors\nROCm version: 7.1.1\n" + MI355X,
    ),
    "hipblaslt-cpx-7.1": (
        "The GPUs are in CPX mode.\nHIPBLAS_STATUS_INTERNAL_ERROR when calling hipblasLtMatmul\nROCm version: 7.1.1\n"
        + MI300X,
        "The GPUs are in SPX mode.\nHIPBLAS_STATUS_INTERNAL_ERROR when calling hipblasLtMatmul\nROCm version: 7.1.1\n"
        + MI300X,
    ),
    "vllm-0.20.1-gpt-oss": (
        "serving openai/gpt-oss-20b\n" + ILLEGAL + "GPU 0: NVIDIA B300\n" + pip("vllm==0.20.1"),
        "serving openai/gpt-oss-20b\n" + ILLEGAL + "GPU 0: NVIDIA B300\n" + pip("vllm==0.20.0"),
    ),
    "vllm-0.8.5-strides": (
        "serving Qwen/Qwen2.5-VL-7B\n" + ILLEGAL + H100 + pip("vllm==0.8.5.post1", "torch==2.6.0"),
        "serving Qwen/Qwen2.5-VL-7B\n" + ILLEGAL + H100 + pip("vllm==0.8.4", "torch==2.6.0"),
    ),
    "vllm-0.7.3-moe-long-prompts": (
        "serving DeepSeek-R1, prompts of 40K\n" + ILLEGAL + "GPU 0: NVIDIA H20\n" + pip("vllm==0.7.3"),
        "serving Llama-3-8B\n" + ILLEGAL + "GPU 0: NVIDIA H20\n" + pip("vllm==0.7.3"),
    ),
    "vllm-0.2.0-awq": (
        "serving codellama-13b-awq\n" + ILLEGAL + H100 + pip("vllm==0.2.0"),
        "serving codellama-13b\n" + ILLEGAL + H100 + pip("vllm==0.2.0"),
    ),
    "vllm-0.5.5-prefix-caching": (
        "vllm serve --enable-prefix-caching\n" + ILLEGAL + H100 + pip("vllm==0.5.5"),
        "vllm serve --enable-prefix-caching\n" + ILLEGAL + H100 + pip("vllm==0.6.0"),
    ),
    "flashinfer-0.5.3-qwen3-next": (
        "serving Qwen3-Next-80B-A3B\n" + ILLEGAL + B200 + "flashinfer-python==0.5.3\n",
        "serving Qwen3-Next-80B-A3B\n" + ILLEGAL + B200 + "flashinfer-python==0.5.2\n",
    ),
    "vllm-0.23-aiter-moe-gfx950": (
        "gpt-oss-120b answers gibberish\nROCm version: 7.2.0\n" + MI355X + pip("vllm==0.23.0"),
        "Llama answers gibberish\nROCm version: 7.2.0\n" + MI355X + pip("vllm==0.23.0"),
    ),
    "rocm-10.0-gfx1103": (
        "ComfyUI: Segmentation fault (core dumped)\nROCm version: 10.0.0\nGPU 0: Radeon 780M (gfx1103)\n",
        "blender: Segmentation fault (core dumped)\nROCm version: 10.0.0\nGPU 0: Radeon 780M (gfx1103)\n",
    ),
    "miopen-7.12-gfx1150": (
        "the VAE decode crashes: unspecified launch failure\nROCm version: 7.12.0\nGPU 0: Radeon 890M (gfx1150)\n",
        "the VAE decode crashes: unspecified launch failure\nROCm version: 7.14.0\nGPU 0: Radeon 890M (gfx1150)\n",
    ),
    "miopen-naive-search-gfx1150": (
        "the first VAE decode is very slow, 37 minutes\nROCm version: 7.13.0\nGPU 0: Radeon 890M (gfx1150)\n",
        "the first VAE decode is very slow, 37 minutes\nROCm version: 7.14.0\nGPU 0: Radeon 890M (gfx1150)\n",
    ),
    "llama-cpp-7.10-strix-halo": (
        "llama.cpp is slow, half the speed\nROCm version: 7.10.0\nGPU 0: Radeon 8060S (gfx1151)\n",
        "llama.cpp is slow, half the speed\nROCm version: 6.4.4\nGPU 0: Radeon 8060S (gfx1151)\n",
    ),
    "hip-graph-5.2.0": (
        "graph replay gives wrong results\nROCm version: 5.2.0\n" + "GPU 0: AMD Instinct MI250X (gfx90a)\n",
        "graph replay gives wrong results\nROCm version: 5.2.3\n" + "GPU 0: AMD Instinct MI250X (gfx90a)\n",
    ),
    "aiter-0.1.19-cache-layout": (
        "crash in fused_qk_norm_rope_cache\n" + MI355X + "amd-aiter==0.1.19\n",
        "crash in fused_qk_norm_rope_cache\n" + MI355X + "amd-aiter==0.1.19.post2\n",
    ),
    "aiter-0.1.12.post1-imports": (
        "ImportError: cannot import name 'flash_attn_varlen_func' from 'aiter' (/venv/aiter/__init__.py)\n"
        + MI300X
        + "amd-aiter==0.1.12.post1\n",
        "ImportError: cannot import name 'flash_attn_varlen_func' from 'aiter' (/venv/aiter/__init__.py)\n"
        + MI300X
        + "amd-aiter==0.1.12\n",
    ),
    "amdgpu-6.4-queue-eviction": (
        "RCCL's all_reduce is slow when workers fork\nii  amdgpu-dkms  1:6.12.12.60402-2187269.24.04\n" + MI300X,
        "RCCL's all_reduce is slow when workers fork\nii  amdgpu-dkms  1:6.12.12.60403-2194681.24.04\n" + MI300X,
    ),
    "pinned-memory-kernel-6.11": (
        "cudaMallocHost fails now and then: out of memory\n$ uname -r\n6.11.0-26-generic\n" + H100,
        "cudaMallocHost fails now and then: out of memory\n$ uname -r\n6.8.0-60-generic\n" + H100,
    ),
    "rtx50-resume-kernel-7.0": (
        "It hangs on resume from s2idle.\n$ uname -r\n7.0.0-14-generic\n"
        "| NVIDIA-SMI 580.142      Driver Version: 580.142      CUDA Version: 13.0 |\nGPU 0: NVIDIA GeForce RTX 5070\n",
        "It hangs on resume from s2idle.\n$ uname -r\n6.17.0-14-generic\n"
        "| NVIDIA-SMI 580.142      Driver Version: 580.142      CUDA Version: 13.0 |\nGPU 0: NVIDIA GeForce RTX 5070\n",
    ),
}


def test_each_row_that_must_show_has_its_texts() -> None:
    assert set(SHOWN) == {row.id for row in library_faults() if row.only_shown}


@pytest.mark.parametrize("row", SHOWN)
def test_a_release_is_named_where_its_fault_shows(row: str) -> None:
    assert row in loud(SHOWN[row][0])


@pytest.mark.parametrize("row", SHOWN)
def test_it_is_not_named_beside_another_release_or_trouble(row: str) -> None:
    assert row not in loud(SHOWN[row][1])


@pytest.mark.parametrize("row", SHOWN)
def test_a_machine_with_the_release_and_without_the_trouble_is_well(row: str) -> None:
    lines = SHOWN[row][0].splitlines()
    facts = [line for line in lines if line.startswith(("GPU 0", "[pip3]", "PyTorch", "ROCm", "ii ", "$ ", "| "))]
    kernels = [line for line in lines if line.startswith(("6.", "7."))]
    assert row not in loud("\n".join([*facts, *kernels, "Everything works."]))


UNBUILT = {row.id: row for row in faults() if row.nvidia}
GONE = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"


def running(row: Fault) -> str:
    """The first kernel of the row as `uname -r` prints it."""
    first = row.kernel[0] if row.kernel else ""
    return first if first.count(".") == 2 else f"{first}.9"


def dkms(release: str, kernel: str) -> str:
    return f"$ uname -r\n{kernel}-generic\n$ dkms status\nnvidia/{release}: added\n{GONE}"


@pytest.mark.parametrize("row", UNBUILT.values(), ids=UNBUILT)
def test_a_driver_that_does_not_build_for_the_kernel_is_named(row: Fault) -> None:
    assert row.nvidia
    assert told(dkms(row.nvidia[1], running(row)))[:1] == ["nvidia-kernel-incompatible"]


@pytest.mark.parametrize("row", UNBUILT.values(), ids=UNBUILT)
def test_it_is_not_where_it_runs_or_was_built(row: Fault) -> None:
    assert row.nvidia
    release, kernel = row.nvidia[1], running(row)
    shown = f"| NVIDIA-SMI {release}    Driver Version: {release}    CUDA Version: 12.9 |\nGPU 0: NVIDIA L4\n"
    assert "nvidia-kernel-incompatible" not in told(f"$ uname -r\n{kernel}-generic\n{shown}It all works.\n")
    built = (
        f"$ uname -r\n{kernel}-generic\n$ dkms status\nnvidia/{release}, {kernel}-generic, x86_64: installed\n{GONE}"
    )
    assert "nvidia-kernel-incompatible" not in told(built)


@pytest.mark.parametrize(
    ("release", "kernel"),
    [("575.64.03", "6.15.4"), ("570.153.02", "6.14.9"), ("535.183.08", "6.7.4"), ("580.159.04", "7.1.2")],
)
def test_releases_and_kernels_beside_the_range_are_not_meant(release: str, kernel: str) -> None:
    assert "nvidia-kernel-incompatible" not in told(dkms(release, kernel))


def test_the_row_of_a_machine_itself_asks_that_the_module_is_absent() -> None:
    facts = {
        "kernel.release": "6.15.0",
        "kernel.dkms": [{"key": "nvidia/570.153.02"}],
        "nvidia_driver.loaded": False,
    }
    row = UNBUILT["nvidia-570-6.15"]
    assert row.facts(build(facts)) is not None
    assert row.facts(build(facts | {"nvidia_driver.loaded": True})) is None
    assert row.facts(build(facts | {"container.inside": True})) is None


NO_QUEUE = "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.\n"
DKMS = "$ dkms status\namdgpu/{}-2212064.24.04, 6.14.0-29-generic, x86_64: installed\nRadeon 890M (gfx1150)\n"


def test_a_module_after_which_rocm_no_longer_starts() -> None:
    assert "amdgpu-driver-known-bad" in told(NO_QUEUE + DKMS.format("6.14.14"))
    assert "amdgpu-driver-known-bad" not in told(NO_QUEUE + DKMS.format("6.12.12"))
    assert "amdgpu-driver-known-bad" not in told(DKMS.format("6.14.14") + "rocminfo lists the GPU.\n")


@pytest.mark.parametrize(("kernel", "named"), [("6.18.7", True), ("6.19.12", False)])
def test_firmware_of_krackan_point_under_older_kernels(kernel: str, named: bool) -> None:
    text = (
        f"$ uname -r\n{kernel}-arch1-1\nMES feature version: 1, firmware version: 0x00000082\nRadeon 860M (gfx1152)\n"
    )
    hang = "amdgpu 0000:04:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3\n"
    assert ("amdgpu-firmware-bad" in told(text + hang)) is named
    assert "amdgpu-firmware-bad" not in told(text + "It all works.\n")


HOOK = "OCI runtime create failed: unable to start container process: error running createContainer hook #1: exit 1\n"
GRAPHICS = "docker run --runtime=nvidia -e NVIDIA_DRIVER_CAPABILITIES=all nvidia/cuda nvidia-smi\n"
KILLED = "nvidia-container-cli: ldcache error: process /sbin/ldconfig terminated with signal {}\n"
SEGFAULT = "kernel: nvidia-containe[134900]: segfault at 0 ip 00007f1 sp 00007f2 error 4 in libnvidia-container.so.1\n"
TOOLKIT = "NVIDIA Container Toolkit CLI version {}\n"


@pytest.mark.parametrize(
    ("text", "release", "says"),
    [
        (GRAPHICS + HOOK, "1.18.0", "1.18.2 mends it"),
        (GRAPHICS + HOOK, "1.18.2", ""),
        ("docker run --gpus all nvidia/cuda nvidia-smi\n" + HOOK, "1.18.0", ""),
        (KILLED.format(9), "1.17.8", "1.18.0 mends it"),
        (KILLED.format(9), "1.18.0", ""),
        (SEGFAULT, "1.17.7", "1.17.8 mends it"),
        (SEGFAULT, "1.17.8", ""),
    ],
)
def test_toolkits_that_start_no_container(text: str, release: str, says: str) -> None:
    findings = judge(read_text([(text + TOOLKIT.format(release)).encode()]), KB).findings
    loudly = [f.summary for f in findings if f.rule == "container-toolkit-too-old" and f.severity is Severity.WARNING]
    assert any(says in summary for summary in loudly) if says else not any("mends it" in s for s in loudly)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Building DKMS module 'nvidia-580.142' for kernel-7.1.0_1... FAILED!\n", True),
        ("Building DKMS module: nvidia-535.154.05... FAILED!\n", True),
        ("Building DKMS module 'nvidia-580.142' for kernel-7.1.0_1... done\n", False),
    ],
)
def test_a_build_of_nvidias_module_that_failed(text: str, named: bool) -> None:
    assert ("nvidia-kernel-incompatible" in told(text)) is named


@pytest.mark.parametrize(("torch", "named"), [("2.13.0+rocm7.2", True), ("2.12.1+rocm7.2", False)])
def test_a_wheel_that_finds_no_vector_isa(torch: str, named: bool) -> None:
    text = f"RuntimeError: Can't detect vectorized ISA for CPU\nPyTorch version: {torch}\n"
    assert ("known-bad-library-version" in told(text)) is named
