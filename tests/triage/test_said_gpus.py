"""Which GPU sentences tell of, beside what tools told of its state."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.rules.flags import visible_devices_conflict
from doctor.triage.read import read_text


def read(text: str) -> Snapshot:
    return read_text([text.encode()])


def raised_of(text: str) -> list[str]:
    return [f.summary for f in visible_devices_conflict.check(read(text), Knowledge(), None)]


def test_firmware_that_a_tool_printed_leaves_the_gpus_name_to_the_sentence() -> None:
    (gpu,) = read("Radeon 8060S (gfx1151)\n\nMES feature version: 1, firmware version: 0x00000083\n").gpus or ()
    assert (gpu.arch, (gpu.firmware or {}).get("mes") or (gpu.firmware or {}).get("MES")) == ("gfx1151", "0x00000083")


def test_a_gpu_and_its_family_are_one_gpu_where_one_architecture_is_told() -> None:
    (gpu,) = read("GPU hang on Strix Halo\nRadeon 8060S (gfx1151)\n").gpus or ()
    assert gpu.arch == "gfx1151"


def test_a_table_that_names_its_gpus_by_address_is_believed_alone() -> None:
    row = "| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |\n"
    row += "|   0  NVIDIA RTX 6000...  Off  | 00000000:01:00.0 Off |                  Off |"
    assert [g.name for g in read(f"{row}\n\nan RTX 5090 is in my other machine\n").gpus or ()] == [None]


def test_chips_of_lspci_tell_the_architecture_where_no_id_is_printed() -> None:
    line = "01:00.0 3D controller: NVIDIA Corporation GM107M [GeForce GTX 950M] (rev a2)"
    (gpu,) = read(f"- **PCI ID**: `{line}`.\n").gpus or ()
    assert (gpu.arch, gpu.name) == ("sm_50", "GeForce GTX 950M")


def test_agents_listed_within_a_sentence_run() -> None:
    machine = read("It crashes.\nrocm_agent_enumerator\ngfx000\ngfx1200\ngfx1036\n")
    assert [g.arch for g in machine.gpus or ()] == ["gfx1200", "gfx1036"]


def test_rows_of_older_rocm_smi() -> None:
    text = "GPU  Temp (DieEdge)  AvgPwr  SCLK     MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
    text += "0    104.0c          88.0W   735Mhz   1200Mhz  0%   auto  290.0W   61%   100%\n"
    (gpu,) = read(text).gpus or ()
    assert (gpu.sensors.temperature_c, gpu.sensors.power_limit_w) == (104.0, 290.0)


def test_the_image_says_which_rocm_is_used() -> None:
    machine = read("Running image rocm/pytorch:rocm7.1_ubuntu24.04_py3.12_pytorch_release_2.8.0 on MI300X\n")
    assert [r.version for r in machine.rocm or ()] == ["7.1"]


def test_a_sentence_that_says_where_it_was_installed_tells_of_wsl() -> None:
    assert read("WSL2 - Ubuntu: 20.04\nRX580\n").host.wsl
    assert read("System:\n```\nWSL2\n```\nRTX 3060\n").host.wsl


def test_wsl_where_it_works_is_another_machine() -> None:
    assert not read("Radeon RX 7900 XTX. It works fine in WSL2, and on bare metal the GPU hangs.\n").host.wsl


def test_a_gpu_that_lies_idle_is_there() -> None:
    (gpu,) = read("Processing on the 1050ti GPU does not turn on.\n").gpus or ()
    assert gpu.vendor == "nvidia"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("8x Tesla V100-SXM2-32GB (a DGX-1)", ["Tesla V100-SXM2-32GB"] * 8),
        ("- 4 x NVIDIA H100 80GB HBM3", ["NVIDIA H100"] * 4),
        ("2× RX 7900 XTX", ["RX 7900 XTX"] * 2),
        ("2x RTX 4090 works fine", []),
    ],
)
def test_several_of_one_product_alone_on_a_line_are_so_many(line: str, names: list[str]) -> None:
    assert [gpu.name for gpu in read(f"{line}\n").gpus or ()] == names


def test_a_list_of_visible_gpus_counts_among_them() -> None:
    line = "export CUDA_VISIBLE_DEVICES=0,1,2,3\n"
    assert not raised_of(f"4x NVIDIA A100-SXM4-80GB\n{line}")
    assert raised_of(f"2x NVIDIA A100-SXM4-80GB\n{line}")
