"""A remedy that was tried in vain is no cure, and what is right where it stands is no fault."""

from __future__ import annotations

import pytest

from .texts import keys, names, names_not, raised

CARDS = "GPU 0: NVIDIA GeForce RTX 3090\nGPU 1: NVIDIA GeForce RTX 3090\n"
IN_VAIN = [
    ("p2p-off-works", "I set NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1, no change. It was OpenCV, and that is solved"),
    ("p2p-off-works", "set NCCL_P2P_DISABLE=1 but it still hangs"),
    ("p2p-off-works", "with NCCL_P2P_DISABLE=1 the same hang, and no help"),
    ("p2p-off-works", "to fix the hang I set NCCL_P2P_DISABLE=1, no difference"),
    ("p2p-off-works", "NCCL_P2P_DISABLE=1 does not help"),
    ("iommu-change-helps", "it hangs, and iommu=pt made no difference"),
    ("iommu-change-helps", "iommu=off does not help"),
    ("iommu-settings-in-vain-told", "it hangs; iommu=pt helped"),
    ("iommu-settings-in-vain-told", "I tried amd_iommu=off and iommu=pt, the last one fixed it"),
    ("iommu-settings-in-vain-told", "the kernel runs with amd_iommu=on iommu=pt"),
    ("acs-enabled", "with ACS disabled it still hangs"),
    ("peer-copies-off-helps", "NCCL_P2P_DISABLE=1 no change: it starts and hangs"),
    ("p2p-off-works-chinese", "设置 NCCL_P2P_DISABLE=1 仍然不可以"),
    ("collective-hangs", "it ran 3 days without hang; before that I suspected NCCL"),
    ("compile-not-on-this-python", "RuntimeError: Windows not yet supported for torch.compile"),
    (
        "pip-conflicting-dependencies",
        "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. "
        "This behaviour is the source of the following dependency conflicts.",
    ),
    ("clocks-locked-told", "GPU clocks locked with nvidia-smi -lgc 1410, P0, 61C, no throttling."),
    ("clocks-locked-told", "clocks are locked at 1410 MHz for stable results"),
    ("mig-count-told", "CUDA_VISIBLE_DEVICES=MIG-4ac2 python -c ... device_count() 1 of MIG"),
    ("module-not-rebuilt-told", r"comfy\ldm\modules\attention.py:407: UserWarning: 1Torch was not compiled with flash"),
]
CURES = [
    ("p2p-off-works", "with NCCL_P2P_DISABLE=1 it works"),
    ("p2p-off-works", "NCCL_P2P_DISABLE=1 solved it for torch 2.1.0"),
    ("p2p-off-works", "it hangs unless NCCL_P2P_DISABLE=1"),
    ("p2p-off-works", "no more hangs; fixed by NCCL_P2P_DISABLE=1"),
    ("p2p-off-works", "NCCL_P2P_DISABLE=1: no more hangs"),
    ("p2p-off-works", "gibberish with peer copies, right with NCCL_P2P_DISABLE=1"),
    ("p2p-off-works", "NCCL_P2P_DISABLE=1 works, without it, it does not work"),
    ("iommu-change-helps", "iommu=soft did not help, iommu=off fixed it"),
    ("iommu-settings-in-vain-told", "tried iommu=off, amd_iommu=off, iommu=pt"),
    ("iommu-settings-in-vain-told", "with iommu=pt it still hangs"),
    ("iommu-settings-in-vain-told", "disabling the IOMMU made no difference"),
    ("iommu-settings-in-vain-told", "iommu=off does not help"),
    ("acs-enabled", "disabling ACS on the bridges doubled the bandwidth"),
    ("collective-hangs", "NCCL all_reduce hangs"),
    ("compile-not-on-this-python", "RuntimeError: Python 3.12+ not yet supported for torch.compile"),
    ("compile-not-on-this-python", "RuntimeError: Dynamo is not supported on Python 3.14+"),
    ("pip-conflicting-dependencies", "ERROR: Cannot install a and b because these have conflicting dependencies."),
    ("clocks-locked-told", "somebody ran nvidia-smi -lgc 210"),
    ("mig-count-told", "torch.cuda.device_count() is 0 with MIG"),
    ("module-not-rebuilt-told", "the nvidia module was not built for the new kernel"),
]


@pytest.mark.parametrize(("key", "line"), IN_VAIN)
def test_a_remedy_in_vain_is_no_cure(key: str, line: str) -> None:
    assert key not in keys(line)


@pytest.mark.parametrize(("key", "line"), CURES)
def test_a_cure_is_one(key: str, line: str) -> None:
    assert key in keys(line)


test_it_is_named = names(
    [
        (CARDS + "training over both hangs\nNCCL_P2P_DISABLE=1 solved it", "pcie-p2p-unusable"),
        (CARDS + "all_reduce_perf hangs\nI tried iommu=off, intel_iommu=off and iommu=pt", "pcie-p2p-unusable"),
        (
            "torch.cuda.device_count() shows one\nCUDA_VISIBLE_DEVICES=MIG-4ac2b1f0,MIG-5d\nMIG 1g.5gb",
            "mig-misconfigured",
        ),
    ]
)
test_it_is_not_named = names_not(
    [
        (CARDS + "training hangs\nI set NCCL_P2P_DISABLE=1, no change.\nOpenCV was it, solved", "pcie-p2p-unusable"),
        (
            CARDS + "training hangs\nI set NCCL_P2P_DISABLE=1, no change.\nOpenCV was it, solved",
            "iommu-not-passthrough",
        ),
        (CARDS + "all_reduce_perf hangs\nI tried iommu=off, intel_iommu=off and iommu=pt", "iommu-not-passthrough"),
        ("torch.cuda.device_count() shows one\nCUDA_VISIBLE_DEVICES=MIG-4ac2b1f0\nMIG 1g.5gb", "mig-misconfigured"),
    ]
)
BASE = ">>> torch.cuda.is_available()\nFalse\n>>> torch.__version__\n'2.3.0+cpu'\n\n"
ASKED = "torch.__version__, torch.cuda.is_available(), torch.cuda.get_device_name()"


@pytest.mark.parametrize(
    "right",
    [
        f"that was base. In the environment:\n>>> {ASKED}\n('2.3.0+cu121', True, 'NVIDIA GeForce RTX 3080')",
        f"(llm) $ python -c 'import torch; print({ASKED})'\n2.3.0+cu121 True NVIDIA GeForce RTX 3080 Laptop GPU",
        f"(llm) $ python -c 'import torch; print({ASKED})'\n2.3.0+rocm6.0 True AMD Radeon RX 7900 XTX",
    ],
)
def test_a_build_that_sees_a_gpu_afterwards_ends_what_a_cpu_build_said(right: str) -> None:
    assert raised(BASE + right) == []


def test_a_cpu_build_that_is_printed_last_is_the_one_in_use() -> None:
    assert "torch-cpu-only-build" in raised("2.3.0+cu121 True NVIDIA GeForce RTX 3080\n" + BASE)


def test_a_mac_of_which_one_says_that_it_has_no_gpu_of_nvidia_asks_for_none() -> None:
    text = "MacBook Air 2019, no NVIDIA GPU\n"
    assert raised(text + "UserWarning: FP16 is not supported on CPU; using FP32 instead") == []
    assert "os-without-cuda-or-rocm" in raised(text + "AssertionError: Torch not compiled with CUDA enabled")
