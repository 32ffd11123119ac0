"""Lines near to an error text that tell of settings, of programs that mend themselves, and of work that goes on."""

from __future__ import annotations

from tests.knowledge.texts import keys, names, names_not

BF16 = (
    "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has 7.5."
)
NOT_DETECTED = "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
test_not_accused = names_not(
    [
        (
            "WARNING requirements: requirement ['numpy<2.0.0'] not found, attempting AutoUpdate...\n"
            "RuntimeError: CUDA error: it fails",
            "numpy-abi-mismatch",
        ),
        (
            "CUDA SETUP: Loading binary /home/li/.local/lib/python3.10/site-packages/bitsandbytes/libbitsandbytes.so\n"
            "RuntimeError: it fails",
            "python-user-site-leak",
        ),
        (
            "TypeError: AiterFlashAttentionImpl.__init__() got an unexpected keyword argument 'kv'",
            "companion-kernel-lib-outdated",
        ),
        (BF16, "library-missing-gpu-arch"),
        (f"{NOT_DETECTED}GPU available: True (cuda), used: True", "container-missing-gpu-passthrough"),
        (
            f"{NOT_DETECTED}that was on the login node\nGPU available: True (cuda), used: True",
            "scheduler-no-gpu-allocated",
        ),
    ]
)
test_still_accused = names(
    [
        ("ImportError: A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0", "numpy-abi-mismatch"),
        ("TypeError: fused_moe() got an unexpected keyword argument 'x'", "companion-kernel-lib-outdated"),
        ("ValueError: type fp8e4nv not supported in this architecture", "library-missing-gpu-arch"),
        (NOT_DETECTED, "container-missing-gpu-passthrough"),
    ]
)


def test_advice_on_hangs_is_no_hang() -> None:
    advice = "If you experience slowdowns or hanging when DeepSpeed exits, set TRITON_CACHE_DIR to another path."
    assert not {"hang-word-told", "stands-still-told"} & keys(advice)
    assert {"hang-word-told", "stands-still-told"} <= keys("the ranks are hanging when DeepSpeed exits")
