"""Settings and versions that mere words, or facts alone, do not accuse where a text tells of a program's own error."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.driver import nvidia_driver_library_mismatch
from doctor.rules.flags import (
    allocator_flag_unsupported,
    collective_flag_misconfigured,
    env_flag_unknown_or_renamed,
    visible_devices_conflict,
)
from doctor.rules.host import gpu_throttled, integrated_gpu_conflict
from doctor.rules.python import triton_mismatch
from tests.knowledge.texts import raised

KB = Knowledge()
AGENT = (
    "$ rocminfo\n*******\nAgent 2\n*******\n  Name: {}\n  Marketing Name: {}\n  Vendor Name: AMD\n  Device Type: GPU\n"
)
CARD = AGENT.format("gfx1100", "Radeon RX 7900 XTX")
OWN_LINE = "0x0000000000403b1c in advect_ (t=...) at ocean.f90:411"


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: CUDA error: invalid configuration argument",
        "Segmentation fault (core dumped)",
    ],
)
def test_a_debugging_flag_beside_an_error_is_what_seeks_it(error: str) -> None:
    flag = "$ env\nCUDA_LAUNCH_BLOCKING=1\n"
    assert "debug-flag-left-on" not in raised(f"{error}\n{flag}")
    assert "debug-flag-left-on" in raised(f"{error}\n{flag}training is very slow")


def test_a_debugging_flag_that_makes_the_error() -> None:
    error = "RuntimeError: CUDA error: operation not permitted when stream is capturing"
    assert "debug-flag-left-on" in raised(f"{error}\n$ env\nCUDA_LAUNCH_BLOCKING=1")


def test_an_override_within_the_family_is_no_cause_of_what_fails_otherwise() -> None:
    card = AGENT.format("gfx1101", "AMD Radeon RX 7800 XT") + "OS: Ubuntu 22.04\nROCm version: 6.3\n"
    kin, strange = "$ env\nHSA_OVERRIDE_GFX_VERSION=11.0.0\n", "$ env\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    other, code = "RuntimeError: Function 'SqrtBackward0' returned nan values", "Memory access fault by GPU node-1"
    assert "hsa-override-misuse" not in raised(f"loss is nan\n{other}\n{card}{kin}")
    assert "hsa-override-misuse" in raised(f"loss is nan\n{code}\n{card}{kin}")
    assert "hsa-override-misuse" in raised(f"loss is nan\n{other}\n{card}{strange}")
    assert "hsa-override-misuse" in raised(f"{card}{kin}")


def test_a_rank_that_raised_is_why_the_others_lose_it() -> None:
    refused = "[rank4]: ncclRemoteError: A call failed possibly due to a remote process exiting prematurely."
    flags = "$ env\nNCCL_SOCKET_IFNAME=bond0\nNCCL_IB_HCA=mlx5_0\n"
    for own in ("12: AssertionError: /scratch/data", "[rank3]: ValueError: no shards"):
        assert "collective-flag-misconfigured" not in raised(f"{refused}\n{own}\n{flags}")
        assert collective_flag_misconfigured.unheard(read_text([f"{refused}\n{own}\n{flags}".encode()]))
    assert "collective-flag-misconfigured" in raised(f"{refused}\n{flags}")


def test_a_triton_that_amd_put_beside_its_vllm() -> None:
    rows = "$ pip list\nPackage Version\n------- -------\ntorch 2.9.0+rocm7.0\ntriton 3.4.0\n"
    stands = "stands still: no progress, the GPU hangs"
    for of_amd in ("vllm 0.11.2+rocm700\n", "xgrammar 0.1\n$ docker run --device=/dev/kfd rocm/vllm:latest\n"):
        assert "triton-mismatch" not in raised(f"{stands}\n{rows}{of_amd}")
        assert triton_mismatch.unheard(read_text([f"{stands}\n{rows}{of_amd}".encode()]))
        assert [
            f.suspect for f in triton_mismatch.check(read_text([f"{stands}\n{rows}{of_amd}".encode()]), KB, None)
        ] == [0]
    machine = read_text([f"{stands}\n{rows}xgrammar 0.1\n".encode()])
    assert [f.suspect for f in triton_mismatch.check(machine, KB, None)] == [1]


def test_one_version_of_the_driver_and_a_program_that_fell_over_its_own_line() -> None:
    driver = "NVIDIA driver version: 545.23.08\n"
    assert nvidia_driver_library_mismatch.unheard(read_text([f"{driver}{OWN_LINE}".encode()]))
    assert not nvidia_driver_library_mismatch.unheard(read_text([driver.encode()]))


@pytest.mark.parametrize("line", [OWN_LINE, "#0  build_tree (n=65536) at csrc/knn.cpp:33"])
def test_a_line_of_ones_own_is_no_gpu_in_the_processor(line: str) -> None:
    gpus = CARD + AGENT.format("gfx1036", "AMD Radeon Graphics")
    crash = "Fatal Python error: Segmentation fault\n"
    assert integrated_gpu_conflict.unheard(read_text([f"{crash}{gpus}{line}".encode()]))
    assert not integrated_gpu_conflict.unheard(read_text([f"{crash}{gpus}#0  f (n=1) at /usr/src/hip.cpp:3".encode()]))


def test_one_list_of_the_one_gpu() -> None:
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        assert visible_devices_conflict.unheard(read_text([f"{CARD}$ env\n{name}=0\n".encode()]))
        assert not visible_devices_conflict.unheard(read_text([f"{CARD}$ env\n{name}=3\n".encode()]))
    both = f"{CARD}$ env\nROCR_VISIBLE_DEVICES=0\nHIP_VISIBLE_DEVICES=0\n"
    assert not visible_devices_conflict.unheard(read_text([f"{both}CUDA_VISIBLE_DEVICES=1\n".encode()]))


def test_an_old_name_beside_todays() -> None:
    old, today = "RAY_EXPERIMENTAL_NOSET_ROCR_VISIBLE_DEVICES=1", "RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES=1"
    rows = "$ pip list\nPackage Version\n------- -------\nray 2.48.0\n"
    assert env_flag_unknown_or_renamed.unheard(read_text([f"{rows}$ env\n{old}\n{today}\n".encode()]))
    assert not env_flag_unknown_or_renamed.unheard(read_text([f"{rows}$ env\n{old}\n".encode()]))


def test_options_that_the_allocator_of_either_build_has() -> None:
    machine = "OS: Ubuntu 24.04\n$ pip list\nPackage Version\n------- -------\ntorch 2.5.1+rocm6.2\n"
    for value, quiet in (
        ("garbage_collection_threshold:0.8,max_split_size_mb:512", True),
        ("max_split_size_mb:512,expandable_segments:True", False),
    ):
        text = f"{machine}$ env\nPYTORCH_HIP_ALLOC_CONF={value}\n"
        assert allocator_flag_unsupported.unheard(read_text([text.encode()])) is quiet, value


def test_hashcat_that_has_too_little_to_do_is_not_held_down() -> None:
    hint = "Unless you supply more work, your cracking speed will drop.\n"
    shown = "Hardware.Mon.#1..: Temp: 41c Fan: 18% Util:  6% Core: 500MHz Mem: 996MHz Bus:16\n"
    assert gpu_throttled.unheard(read_text([f"{hint}{shown}".encode()]))
    assert not gpu_throttled.unheard(read_text([f"{hint}{shown}clocks drop after a minute".encode()]))


def test_a_program_that_renders_does_not_miss_its_gpu_on_a_list() -> None:
    card = AGENT.format("gfx1032", "AMD Radeon RX 6650 XT") + "OS: openSUSE Tumbleweed\nROCm version: 6.1.2\n"
    rendered = "Fra:1 Mem:4410.4M (Peak 5044.1M) | Time:11:31.77 | Updating Geometry BVH | Building BVH\n"
    assert "amd-gpu-unsupported-by-rocm" not in raised(f"{card}{rendered}")
    assert "amd-gpu-unsupported-by-rocm" in raised(f"{card}hipErrorNoDevice: no ROCm-capable device\n")


def test_values_that_a_gpu_computed_are_no_fault_of_an_unlisted_system() -> None:
    system = "OS: Rocky Linux 9.4\nROCm version: 6.1.2\n"
    assert "amdgpu-kernel-or-os-unsupported" not in raised(f"Particle coordinate is NaN in step 9\n{system}")
    assert "amdgpu-kernel-or-os-unsupported" in raised(f"hipErrorNoDevice: no ROCm-capable device\n{system}")
