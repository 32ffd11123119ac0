"""Readings that a GPU does not offer, notes in logs of machines that work, and what shows that a part does its work."""

from __future__ import annotations

import pytest

from doctor.diagnosis.resemblance import own_code
from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.intake.words import Words
from doctor.rules.driver import amdgpu_driver_not_loaded as amdgpu
from doctor.rules.driver import nvidia_kernel_incompatible as kernel
from doctor.rules.host import pcie_link_degraded as link
from doctor.rules.python import jax_plugin_mismatch as jax
from doctor.rules.python import tensorflow_gpu_mismatch as tensorflow
from tests.knowledge.texts import keys, names

CUDA_LACKS = "Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices."
ROCM_LACKS = "Unable to initialize backend 'rocm': NOT_FOUND: Could not find registered platform with name: \"rocm\". "
CUDA_THERE = ROCM_LACKS + "Available platform names are: CUDA Interpreter"
TPU_LACKS = "INFO:jax._src.xla_bridge:Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so"


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


@pytest.mark.parametrize(
    "line",
    [
        "rsmi_dev_temp_metric_get failed: RSMI_STATUS_NOT_SUPPORTED: This function is not supported",
        "GPU[0]\t\t: dcefclk clock is unsupported",
        "GPU[1]\t\t: fclk frequency is unsupported",
        "GPU[0]\t: get_power_avg, Not supported on the given system",
        "pynvml.NVMLError_NotSupported: Not Supported",
        "| N/A   41C    P0    [Not Supported]",
        "amd-smi shows no utilisation while the job runs",
        "nvidia-gpu 0000:01:00.3: i2c timeout error e0000000",
        "ucsi_ccg 4-0008: i2c_transfer failed -110",
        "with a warm-up before it the kernel is as fast as expected",
    ],
)
def test_beside_a_reading_that_is_not_offered_words_accuse_nothing(line: str) -> None:
    assert own_code(of(line))


@pytest.mark.parametrize(
    "line",
    [
        "rsmi_init failed: RSMI_STATUS_INIT_ERROR: An error occurred during initialization",
        "nvidia-smi shows no devices",
        "i2c_designware AMDI0010:00: controller timed out",
        "after a warm reboot the card is gone",
    ],
)
def test_beside_what_fails_they_may(line: str) -> None:
    assert not own_code(of(line))


def test_files_that_amdgpu_makes_show_that_it_is_loaded() -> None:
    assert amdgpu.unheard(of("cat /sys/class/drm/card1/device/gpu_busy_percent\n0"))
    assert amdgpu.unheard(of("[    4.1] [drm] amdgpu: 8176M of VRAM memory ready"))
    assert not amdgpu.unheard(of("ls /sys/class/drm/card0/device/driver"))


@pytest.mark.parametrize(
    ("line", "rests"),
    [
        ("\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)", True),
        ("\t\tLnkSta:\tSpeed 8GT/s, Width x16", True),
        ("\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x4 (downgraded)", False),
        ("\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)\nTransfers are very slow.", False),
        ("PCIe bandwidth is downgraded\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)", False),
    ],
)
def test_a_link_with_all_lanes_that_rests(line: str, rests: bool) -> None:
    assert link.unheard(of(line)) is rests


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("nvidia-smi works, kernel 6.8.0", True),
        ("Name: torch\nVersion: 2.4.1+cu124\nkernel 6.8.0", True),
        ("nvidia.ko does not load with kernel 6.8.0", False),
    ],
)
def test_a_kernel_that_took_the_module(line: str, used: bool) -> None:
    assert kernel.unheard(of(line)) is used


NUMA = "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node"


def test_tensorflow_asks_where_its_gpu_sits() -> None:
    assert tensorflow.unheard(of(f"I tensorflow/stream_executor/cuda/cuda_gpu_executor.cc:936] {NUMA}"))
    assert not tensorflow.unheard(of("tensorflow 2.9 with CUDA 11.2"))
    assert not tensorflow.unheard(of(f"{NUMA}\nImportError: libcudart.so.11.0: cannot open shared object file"))


def test_jax_notes_backends_of_other_hardware() -> None:
    assert jax.unheard(of(TPU_LACKS))
    assert jax.unheard(of(f"{TPU_LACKS}\nINFO:jax._src.xla_bridge:{CUDA_THERE}"))
    assert not jax.unheard(of(f"{TPU_LACKS}\nRuntimeError: {CUDA_LACKS}"))
    assert not jax.unheard(of("jax 0.4.30"))


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        (f"I0731 13:21:33.984375 140 xla_bridge.py:895] {ROCM_LACKS}", False),
        (CUDA_THERE, False),
        (ROCM_LACKS, True),
        (CUDA_LACKS, True),
    ],
)
def test_only_the_backend_of_this_machine_is_missed(line: str, lacks: bool) -> None:
    assert ("jax-backend-not-initialized" in keys(line)) is lacks


test_names = names([(f"RuntimeError: {CUDA_LACKS}", "jax-plugin-mismatch")])


@pytest.mark.parametrize(
    "line",
    [
        "nvidia: loading out-of-tree module taints kernel.",
        "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        "nvidia: module license 'NVIDIA' taints kernel.",
        "Disabling lock debugging due to kernel taint",
        "amdgpu 0000:03:00.0: amdgpu: SMU driver if version not matched",
        "amdgpu 0000:03:00.0: amdgpu: RAS: optional ras ta ucode is not available",
        "amdgpu 0000:03:00.0: amdgpu: SECUREDISPLAY: securedisplay ta ucode is not available",
        "amdgpu 0000:03:00.0: amdgpu: PSP runtime database doesn't exist",
        "ACPI Warning: \\_SB.PCI0.PEG0.PEGP._DSM: Argument #4 type mismatch - Found [Buffer], ACPI requires [Package]",
        "pci 0000:01:00.0: vgaarb: setting as boot VGA device",
        'audit: type=1400 audit(1734600012.111:71): apparmor="STATUS" operation="profile_load" profile="unconfined"',
        "[pip3] nvidia-nccl-cu12==2.20.5",
        "[conda] nvidia-cuda-runtime-cu12 12.1.105 pypi_0 pypi",
    ],
)
def test_notes_of_every_start_are_a_form(line: str) -> None:
    words = Words()
    list(words.through([(1, line)]))
    assert not words.told


@pytest.mark.parametrize(
    "line",
    [
        "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, the firmware hangs",
        'audit: type=1400 audit(1734600012.1:72): apparmor="DENIED" operation="open" profile="docker-default"',
        "pip installs nvidia-nccl-cu12 2.20.5 and it hangs",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    words = Words()
    list(words.through([(1, line)]))
    assert words.told
