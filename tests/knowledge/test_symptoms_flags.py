"""Each error text of this area is found in a line as its program prints it."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "hsa-override-said": "Invalid HSA_OVERRIDE_GFX_VERSION",
    "invalid-device-ordinal": "RuntimeError: CUDA error: invalid device ordinal",
    "hip-cuda-visible-inconsistent": "RuntimeError: Please use HIP_VISIBLE_DEVICES instead of ROCR_VISIBLE_DEVICES",
    "visible-devices-said": "CUDA_VISIBLE_DEVICES is set to an invalid value",
    "debug-flag-said": "throughput is 40% lower because CUDA_LAUNCH_BLOCKING=1 was left set",
    "expandable-segments": "UserWarning: expandable_segments not supported on this platform",
    "allocator-option-unknown": "RuntimeError: Unrecognized CachingAllocator option: garbage_collection",
    "list-of-cuda-deprecated-on-rocm": "WARNING 08-20 13:33:28 [rocm.py:134] Using CUDA_VISIBLE_DEVICES on ROCm is deprecated and support will be removed in vLLM v0.26.0.",  # noqa: E501
    "allocator-env-deprecated": "Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead",
    "nccl-no-socket": "NCCL WARN Bootstrap : no socket interface found",
    "gloo-interface": "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find interface for: eth0",  # noqa: E501
    "nccl-ib-gid": "NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
    "nccl-ib-completion": "NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47182> with status=12 opcode=0 len=0 vendor err 129 (Send)",  # noqa: E501
    "nccl-net-plugin": "NCCL WARN Error: network AWS Libfabric not found.",
    "nccl-no-ib-device": "NCCL INFO NET/IB : No device found.",
    "env-renamed": "WARNING: Unknown vLLM environment variable detected: VLLM_ATTENTION_BACKEDN",
    "env-wrong-gpu": "RuntimeError: VLLM_ROCM_USE_AITER=1 is only supported on gfx9 GPUs",
    "service-env": "the variable is exported in the shell but the service does not see it; add Environment= with systemctl edit ollama",  # noqa: E501
    "env-not-inherited": "HSA_OVERRIDE_GFX_VERSION works in the shell but not when started by systemd",
    "said-slow": "training is 3x slower",
    "capture-not-permitted": "CUDA error: operation not permitted when stream is capturing",
    "rocr-waits-for-vm-timeline": "#2  0x00007f2e in hsaKmtMemoryVaMap () from libhsa-runtime64.so.1",
    "hip-maps-memory-told": "hipMemSetAccess blocks",
    "expandable-segments-elsewhere": "Expandable segments are not compatible with memory pool",
    "nccl-connect-failed": "NCCL WARN socketStartConnect: Connect to 10.0.0.1<4000> failed : Connection refused",
    "nccl-uses-loopback": "NCCL INFO Bootstrap : Using lo:127.0.0.1<0>",
    "service-mentioned": "ollama runs as a systemd service",
    "inline-assignment-works": "HSA_OVERRIDE_GFX_VERSION=10.3.0 ollama serve works",
    "shell-only-said": "works with sudo -E, not with sudo",
    "visible-token-not-number": "ValueError: invalid literal for int() with base 10: 'GPU-5b1c'",
    "torch-device-index-assert": "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED",
    "nccl-duplicate-gpu": "NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000",
    "ofi-efa-only": "NCCL WARN NET/OFI Only EFA provider is supported",
    "serve-by-hand": "then I start ollama serve by hand",
    "ray-wants-hip-list": "RuntimeError: Please use HIP_VISIBLE_DEVICES instead of ROCR_VISIBLE_DEVICES",
    "run-by-sudo-said": "the script is run with sudo",
    "visible-order-said": "CUDA_VISIBLE_DEVICES set after import torch",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    hits = SYMPTOMS.find([(7, f"12:00:01 {EXAMPLES[key]}")])
    assert (key, 7) in [(hit.key, hit.line) for hit in hits]


def test_a_figure_is_slow_beside_what_was_expected() -> None:
    for line in ("copies reach 45 GB/s instead of 60", "12.4GiB/s (expected 25)", "40 TFLOP/s, expected 90"):
        assert "said-slow" in {hit.key for hit in SYMPTOMS.find([(7, line)])}, line
    for line in ("copies reach 60 GB/s, as expected", "the link carries 64 GB/s", "5300 GB/s of memory bandwidth"):
        assert "said-slow" not in {hit.key for hit in SYMPTOMS.find([(7, line)])}, line
