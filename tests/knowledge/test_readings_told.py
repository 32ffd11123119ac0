"""What tools show and people misread: beside it the words of a text accuse nothing, and what fails is still named."""

from __future__ import annotations

import pytest

from doctor.diagnosis.resemblance import own_code
from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.intake.words import Words
from doctor.rules.driver import amdgpu_firmware_bad as firmware
from doctor.rules.flags import debug_flag_left_on as debug
from doctor.rules.flags import env_flag_wrong_for_gpu as flag
from doctor.rules.host import mig_misconfigured as mig
from doctor.rules.python import library_missing_gpu_arch as library
from doctor.rules.python import torch_missing_gpu_arch as torch
from tests.knowledge.texts import keys, names, names_not

FOUND = "    Found GPU0 NVIDIA L4 which is of cuda capability 8.9.\n"
RANGE = "    Minimum and Maximum cuda capability supported by this version of PyTorch is\n    ({}) - ({})\n"
SMI = "GPU:\n```\n$ nvidia-smi -L\nGPU 0: {}\n```\n"


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


@pytest.mark.parametrize(
    "line",
    [
        "nvtop shows the wrong PID for each process",
        "gpustat does not show the power of the card, nvidia-smi shows it",
        "btop 1.4 no longer displays the GPU's clock",
        "radeontop fills the journal",
        "the first request takes 40 seconds, the later ones are fast",
        "only the first image is slow after a start, the next takes 2 s",
        "the first call of the compiled model takes minutes; subsequent calls are quick",
        "Mismatched elements: 3 / 2048 (0.1%)",
        "Greatest absolute difference: 0.0017 at index (9, 4) (up to 0.001 allowed)",
        "AssertionError: Tensor-likes are not close!",
        "max abs diff 0.031 between both cards",
        "the outputs on the A30 and on the T4 are slightly different",
        "different answers for the same seed",
        "FAILED tests/test_ops.py::test_matmul[cuda-float16] - AssertionError",
        "FAIL: test_conv_backward (test_nn.TestNN)",
        "the test suite of the wheel fails on two cases",
        "MapSMtoCores for SM 10.3 is undefined.  Default to use 128 Cores/SM",
        "A kernel problem occurred, but your kernel has been tainted (flags:POE). Explanation:",
        "the kernel is tainted since the driver was installed",
    ],
)
def test_beside_it_words_accuse_nothing(line: str) -> None:
    assert own_code(of(line))


@pytest.mark.parametrize(
    "line",
    [
        "nvtop shows no GPUs",
        "btop reports nothing",
        "the first GPU is slow, the second is fast",
        "the first run takes 20 minutes and then crashes",
        "rccl-tests fail on four GPUs",
        "the tests fail after the update",
        "CPU: 6 PID: 201 Comm: systemd-udevd Tainted: P           OE      6.8.0-40-generic",
        "different drivers on host and guest",
    ],
)
def test_near_to_it_they_may(line: str) -> None:
    assert not own_code(of(line))


@pytest.mark.parametrize("ends", [("8.9", "9.0"), ("8.0", "12.0"), ("7.5", "8.9"), ("7.0", "8.6")])
def test_torch_warns_of_a_gpu_within_its_own_range(ends: tuple[str, str]) -> None:
    machine = of(FOUND + RANGE.format(*ends))
    assert torch.excludes(machine)
    assert library.unheard(machine)


@pytest.mark.parametrize("ends", [("9.0", "12.0"), ("3.5", "7.5"), ("5.0", "6.1")])
def test_and_of_one_beside_it(ends: tuple[str, str]) -> None:
    assert not torch.excludes(of(FOUND + RANGE.format(*ends)))


def test_what_fails_for_want_of_code_counts_for_more_than_a_range() -> None:
    failing = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    assert not library.unheard(of(FOUND + RANGE.format("8.0", "9.0") + failing))


ONE_LINE = (
    "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1. Minimum and Maximum cuda capability supported by this "
    "version of PyTorch is (8.0) - (12.0)"
)
BLACKWELL = "Found GPU0 NVIDIA GeForce RTX 5080 which is of cuda capability 12.0.\n" + RANGE.format("5.0", "9.0")
test_names = names([(BLACKWELL, "torch-missing-gpu-arch")])
test_names_not = names_not(
    [(FOUND + RANGE.format("8.9", "9.0"), "torch-missing-gpu-arch"), (ONE_LINE, "library-missing-gpu-arch")]
)


@pytest.mark.parametrize("gpu", ["NVIDIA RTX A6000", "NVIDIA GeForce RTX 5090", "NVIDIA L40S", "Tesla T4"])
def test_gpus_without_mig_have_none_that_is_wrong(gpu: str) -> None:
    assert mig.unheard(of(SMI.format(gpu)))


@pytest.mark.parametrize("gpu", ["NVIDIA A100-SXM4-40GB", "NVIDIA H100 PCIe", "NVIDIA A30"])
def test_gpus_with_mig_may(gpu: str) -> None:
    assert not mig.unheard(of(SMI.format(gpu)))
    assert not mig.unheard(of("MIG is broken"))


def test_no_debugging_flag_is_set_by_words() -> None:
    assert debug.unheard(of("is some debug flag left on?"))
    assert not debug.unheard(of("export CUDA_LAUNCH_BLOCKING=1"))


def test_a_list_to_build_for_that_names_the_gpu() -> None:
    card = SMI.format("NVIDIA RTX 6000 Ada Generation")
    assert flag.unheard(of(f'export TORCH_CUDA_ARCH_LIST="8.9 9.0+PTX"\n{card}'))
    assert not flag.unheard(of(f'export TORCH_CUDA_ARCH_LIST="7.0"\n{card}'))


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        ("W: Possible missing firmware /lib/firmware/amdgpu/vangogh_sos.bin for module amdgpu", True),
        ('dracut: Possible missing firmware "amdgpu/fiji_sdma.bin" for kernel module "amdgpu.ko"', True),
        ("amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error -2", False),
    ],
)
def test_an_installer_names_the_firmware_of_every_gpu(line: str, noted: bool) -> None:
    assert firmware.unheard(of(line)) is noted
    assert ("firmware-of-other-gpus-noted" in keys(line)) is noted


@pytest.mark.parametrize(
    ("line", "word", "counts"),
    [
        ("/usr/local/cuda-7.5/lib64/libcudnn.so.5.1.10", "libcudnn.so.#", False),
        ("[pip3] numpy==1.14.3", "numpy", False),
        ("ImportError: libcudnn.so.8: cannot open shared object file", "libcudnn.so.#", True),
    ],
)
def test_lines_that_collect_env_writes_for_everyone(line: str, word: str, counts: bool) -> None:
    words = Words()
    list(words.through([(1, line)]))
    assert any(word.split(".")[0] in told for told in words.told) is counts
