"""What people paste of programs on AMD's GPUs."""

from __future__ import annotations

import pytest

from doctor.errors import ReaderError
from doctor.readers import cmdline, collect_env, labelled_lines, rocminfo


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
    with pytest.raises(ReaderError):
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
