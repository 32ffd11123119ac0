"""What people paste of programs on AMD's GPUs."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.amd import rocminfo
from doctor.parsers.kernel import cmdline
from doctor.parsers.python import collect_env
from doctor.parsers.text import labelled_lines


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py", "11.0.0"),
        ("HSA_OVERRIDE_GFX_VERSION=11.0.0 OTHER_NAME=1 ./run", "11.0.0"),
        ("HSA_OVERRIDE_GFX_VERSION=11.0.0", "11.0.0"),
    ],
)
def test_an_assignment_before_a_command_ends_at_the_blank(line: str, value: str) -> None:
    sheet = collect_env.read("pytorch version: 2.9.0+rocm6.4\n" + line)
    assert sheet.get("environment[HSA_OVERRIDE_GFX_VERSION]") == value


def test_a_value_with_blanks_is_kept_whole() -> None:
    sheet = collect_env.read("PyTorch version: 2.9.0+rocm6.4\nCFLAGS_FOR_ALL=-O2 -march=native")
    assert sheet.get("environment[CFLAGS_FOR_ALL]") == "-O2 -march=native"


def test_a_sentence_with_an_assignment_is_no_kernel_command_line() -> None:
    with pytest.raises(ParserError):
        cmdline.read("find_unused_parameters=True fixed it")
    shown = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro audit iommu=pt"
    assert cmdline.read(shown).get("kernel.cmdline") == shown
    assert cmdline.read("pcie_aspm=off nokaslr amd_iommu=off").get("host.iommu") == "off"


def test_rocminfo_says_that_it_runs_under_wsl() -> None:
    assert rocminfo.read("WSL environment detected.").get("host.wsl") is True
    assert rocminfo.read("ROCk module is loaded").get("host.wsl") is None


@pytest.mark.parametrize(("value", "release"), [("(6, 4)", "6.4"), ("6.4.1", "6.4.1")])
def test_a_release_as_a_pair(value: str, release: str) -> None:
    assert labelled_lines.read(f"ROCm version: {value}").get("rocm[shown].version") == release


def test_the_rocm_of_a_wheel_is_not_its_hip() -> None:
    sheet = labelled_lines.read("pytorch version: 2.10.0a0+rocm7.11.0a20251217\nROCm version: (7, 2)")
    assert (sheet.get("torch.rocm"), sheet.get("rocm[shown].version")) == ("7.11.0", "7.11.0")
    sheet = labelled_lines.read("ROCm version: (6, 4)\nROCm: 6.3.3")
    assert sheet.get("rocm[shown].version") == "6.3.3"


SERVES = 'time=2025-09-26T18:02:12 level=INFO source=types.go:130 msg="inference compute" id={} library={} {} {}\n'


def test_gpus_that_a_server_takes() -> None:
    card = 'driver=6.2 name="AMD Radeon RX 7900 GRE" total="16.0 GiB" available="15.8 GiB"'
    second = 'driver=12.8 name="Tesla M40 24GB" total="22.4 GiB"'
    sheet = labelled_lines.read(
        SERVES.format("0", "rocm", 'variant="" compute=gfx1100', card)
        + SERVES.format("GPU-6c1", "cuda", "variant=v12 compute=5.2", second)
    )
    assert [sheet.get(f"gpus[#0].{field}") for field in ("vendor", "arch", "name")] == [
        *("amd", "gfx1100", "AMD Radeon RX 7900 GRE")
    ]
    assert [sheet.get(f"gpus[#1].{field}") for field in ("vendor", "arch", "name")] == [
        *("nvidia", "sm_52", "Tesla M40 24GB")
    ]


def test_gpus_that_another_list_numbers_stay() -> None:
    lines = SERVES.format("0", "cuda", "compute=5.2", 'driver=12.8 name="Tesla M40 24GB" total="22.4 GiB"')
    sheet = labelled_lines.read(f"GPU 0: NVIDIA GeForce RTX 3090\nGPU 1: Tesla M40 24GB\n{lines}")
    assert (sheet.get("gpus[#0].name"), sheet.get("gpus[#0].arch")) == ("NVIDIA GeForce RTX 3090", None)


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("ROCm 6.4 -> ROCm 7.1 fp32 kernels regress", "7.1"),
        ("ROCm 6.4 to 7.1: slower", "7.1"),
        ("ROCm 6.4 → 7.1.1", "7.1.1"),
        ("ROCm 6.4 to be installed on Ubuntu", "6.4"),
        ("ROCm 6.4.1 on two machines", "6.4.1"),
    ],
)
def test_of_two_releases_the_one_that_was_moved_to_is_there(line: str, release: str) -> None:
    assert labelled_lines.read(line).get("rocm[shown].version") == release
