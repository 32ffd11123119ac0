"""Readers of what people paste, on the captures of other machines and on small texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.errors import ParserError
from doctor.parsers.amd import amd_smi_text, rocm_smi_table, rocminfo
from doctor.parsers.container import docker_run_line
from doctor.parsers.kernel import ls_dev, lspci
from doctor.parsers.python import collect_env
from doctor.parsers.text import env_lines, labelled_lines
from tests.each import each
from tests.paths import CAPTURES, FIELDLAB, needs_shared


def capture(path: str) -> str:
    return Path(FIELDLAB / path).read_text("utf-8", "replace")


@needs_shared
def test_rocminfo_of_four_mi300x() -> None:
    sheet = rocminfo.read(capture("amd-mi300x-4gpu-gls/rocminfo.txt"))
    assert sheet.get("amdgpu_driver.loaded") is True
    assert [sheet.get(f"gpus[#{n}].arch") for n in range(5)] == ["gfx942"] * 4 + [None]
    assert sheet.get("gpus[#0].pci_address") == "0000:26:00.0"
    assert sheet.get("gpus[#0].uuid") == "GPU-8d1457e2c20f59d2"
    assert sheet.get("gpus[#0].memory_bytes") == 201310208 * 1024
    assert sheet.get("gpus[#0].compute_units") == 304


@needs_shared
def test_rocminfo_with_colours_around_the_module_line() -> None:
    sheet = rocminfo.read(capture("amd-strix-halo-rocm712-localdoc/rocminfo.txt"))
    assert sheet.get("amdgpu_driver.loaded") is True
    assert sheet.get("gpus[#0].arch") == "gfx1151"
    assert sheet.get("gpus[#0].memory_bytes") == 67108864 * 1024


@needs_shared
def test_rocm_smi_of_each_generation() -> None:
    old = rocm_smi_table.read(capture("amd-mi300x-4gpu-gls/rocm-smi.txt"))
    assert old.get("gpus[#3].name") == "AMD Instinct MI300X"
    all_ = rocm_smi_table.read(capture("amd-mi300x-4gpu-gls/rocm-smi-a.txt"))
    assert (all_.get("amdgpu_driver.version"), all_.get("gpus[#1].uuid")) == ("6.7.0", "0xb4fa34630e85d42a")
    new = rocm_smi_table.read(capture("amd-mi210-4gpu-ctk-docs/rocm-smi.txt"))
    assert [new.get(f"gpus[#{n}].index.kfd") for n in range(4)] == [4, 5, 3, 2]


@needs_shared
@pytest.mark.parametrize("when", ["before", "after"])
def test_compute_partitions_are_no_gpus(when: str) -> None:
    sheet = rocm_smi_table.read(capture(f"amd-mi300x-cpx-rocm-smi-changelog/rocm-smi-cpx-{when}.txt"))
    assert sheet.get("gpus[#0].compute_partition") == "CPX"
    assert sheet.get("gpus[#1].vendor") is None
    assert sheet.get("gpus[#0].partitions[7].kfd") == 9


@needs_shared
def test_amd_smi_where_almost_all_reads_n_a() -> None:
    sheet = amd_smi_text.read(capture("amd-strix-halo-rocm712-localdoc/amd_smi_static.txt"))
    assert sheet.get("gpus[#0].memory_bytes") == 65536 << 20
    assert sheet.get("amdgpu_driver.version") is None


@needs_shared
def test_amd_smi_table_with_a_cut_name() -> None:
    sheet = amd_smi_text.read(capture("amd-framework16-rx7700s-780m-pcp/amd-smi-1.txt"))
    assert sheet.get("gpus[#0].name") == "AMD Radeon RX 7700S"
    assert sheet.get("gpus[#1].name") is None
    assert sheet.get("gpus[#1].pci_address") == "0000:c4:00.0"
    assert sheet.get("amdgpu_driver.source") == "in-tree"


@needs_shared
def test_lspci_of_eight_h100_and_four_nvswitches() -> None:
    names = {e.name: e.value for e in lspci.read(capture("nvidia-h100-8gpu-xe9680-gpud/lspci-vvv.txt"))}
    gpus = [name for name in names if name.startswith("gpus[") and name.endswith(".pci_id")]
    switches = [name for name, value in names.items() if value == "nvswitch"]
    assert (len(gpus), len(switches)) == (8, 4)
    assert names["gpus[0000:19:00.0].link.width"] == 16


def test_a_module_that_is_not_loaded() -> None:
    assert rocminfo.read("ROCk module is NOT loaded, possibly no GPU devices").get("amdgpu_driver.loaded") is False


def test_a_node_that_refuses() -> None:
    sheet = rocminfo.read("ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied")
    assert sheet.get("nodes[/dev/kfd].open_error") == "EACCES"


def test_a_node_that_is_gone_is_known_to_be_absent() -> None:
    (entry,) = ls_dev.read("ls: cannot access '/dev/kfd': No such file or directory")
    assert (entry.name, entry.state.value) == ("nodes[/dev/kfd]", "absent")


def test_collect_env_of_a_cpu_build() -> None:
    sheet = collect_env.read(
        "PyTorch version: 2.1.2\nCUDA used to build PyTorch: None\nROCM used to build PyTorch: N/A"
    )
    assert sheet.get("torch.build") == "cpu"


def test_collect_env_of_a_source_build_that_found_no_rocm() -> None:
    sheet = collect_env.read(
        "PyTorch version: 2.1.0a0+git7ce932a\nCUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 0.0.0\n"
        "GCC version: (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0"
    )
    assert (sheet.get("torch.build"), sheet.get("torch.hip")) == ("cpu", None)
    assert sheet.get("host.gcc_version") == "9.4.0"


def test_collect_env_of_a_rocm_build_with_gpus() -> None:
    sheet = collect_env.read(
        "PyTorch version: 2.5.1+rocm6.2\nROCM used to build PyTorch: 6.2.41133-dd7f95766\nIs CUDA available: True\n"
        "GPU models and configuration: GPU 0: AMD Instinct MI300X (gfx942:sramecc+:xnack-)\n"
        "GPU 1: AMD Instinct MI300X\n"
        "[pip3] numpy==1.26.4\n[conda] numpy 1.26.4 py_0"
    )
    assert (sheet.get("torch.hip"), sheet.get("gpus[#0].arch")) == ("6.2.41133-dd7f95766", "gfx942")
    assert sheet.get("gpus[#1].name") == "AMD Instinct MI300X"


def test_collect_env_of_a_gpu_that_is_cut_up() -> None:
    sheet = collect_env.read(
        "PyTorch version: 2.4.0+cu121\nGPU models and configuration: \nGPU 0: NVIDIA A100-SXM4-80GB\n"
        "  MIG 3g.40gb     Device  0:\n  MIG 1g.10gb     Device  1:\nGPU 1: NVIDIA A100-SXM4-80GB\n\n"
        "Nvidia driver version: 550.90.07\n"
    )
    assert sheet.get("gpus[#0].mig_mode") == "enabled"
    assert [sheet.get(f"gpus[#0].partitions[mig{n}].name") for n in (0, 1, 2)] == ["3g.40gb", "1g.10gb", None]
    assert (sheet.get("gpus[#1].mig_mode"), sheet.get("gpus[#1].name")) == (None, "NVIDIA A100-SXM4-80GB")


def test_options_of_docker_run() -> None:
    sheet = docker_run_line.read("docker run -it --device /dev/kfd -e A_B=1 --shm-size 16G rocm/vllm:latest python x")
    assert sheet.get("container.image") == "rocm/vllm:latest"
    assert sheet.get("environment[A_B]") == "1"


def test_a_variable_said_to_be_unset_is_not_set() -> None:
    with pytest.raises(ParserError):
        env_lines.read("export PYTHONNOUSERSITE=unset")


def test_driver_and_module_of_two_versions() -> None:
    sheet = labelled_lines.read("NVIDIA driver version: 570.124.04\nNVIDIA kernel module version: 570.124.06")
    assert (sheet.get("nvidia_driver.version"), sheet.get("nvidia_driver.user_version")) == ("570.124.06", "570.124.04")


@each("module", [rocminfo, rocm_smi_table, amd_smi_text, lspci, collect_env, docker_run_line, ls_dev])
@each("text", ["", "\n\n", "hello: world", "\x1b[2J\x00"])
def test_another_text_is_an_error(module: object, text: str) -> None:
    with pytest.raises(ParserError):
        module.read(text)  # type: ignore[attr-defined]


def test_debians_tools_without_a_device_say_that_no_driver_is_loaded() -> None:
    folder = CAPTURES / "no-gpu-debian12"
    for read, name in ((rocminfo.read, "rocminfo.txt"), (rocm_smi_table.read, "rocm-smi.txt")):
        sheet = read((folder / name).read_text("utf-8"))
        assert sheet.get("amdgpu_driver.loaded") is False
        assert sheet.get("gpus") is None


def test_a_variable_that_was_tried_and_helped_is_not_set_in_the_run_that_fails() -> None:
    sheet = env_lines.read("NCCL_IB_DISABLE=1\nHIP_VISIBLE_DEVICES=0 avoids the crash\nNCCL_P2P_DISABLE=1 fixes it")
    assert sheet.get("environment[NCCL_IB_DISABLE]") == "1"
    assert sheet.get("environment[HIP_VISIBLE_DEVICES]") is None
    assert sheet.get("environment[NCCL_P2P_DISABLE]") is None
