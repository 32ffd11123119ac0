"""rocm-smi on partitioned GPUs: rows of partitions are no GPUs, whatever addresses they are given."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.parsers.amd import rocm_smi_table
from doctor.triage.read import read_text
from tests.paths import FIELDLAB, needs_shared

HEAD = "============================ ROCm System Management Interface ============================\n"


def shown(rows: list[str]) -> Snapshot:
    lines = [f"GPU[{number}]\t\t: PCI Bus: {address}\n" for number, address in enumerate(rows)]
    return read_text([(HEAD + "".join(lines)).encode()])


def told(machine: Snapshot) -> list[tuple[str | None, int]]:
    return [(gpu.pci_address, len(gpu.partitions or ())) for gpu in machine.gpus or ()]


def test_functions_of_a_gpus_address_are_its_partitions() -> None:
    rows = ["0000:01:00.0", "0000:01:00.1", "0000:01:00.1", "0000:01:00.2", "0001:01:00.0"]
    assert told(shown(rows)) == [("0000:01:00.0", 3), ("0001:01:00.0", 0)]


def test_a_function_without_its_first_is_a_gpu_of_its_own() -> None:
    assert told(shown(["0000:03:02.1", "0000:03:02.2"])) == [("0000:03:02.1", 0), ("0000:03:02.2", 0)]


@needs_shared
def test_four_gpus_with_wrong_bus_numbers() -> None:
    folder = FIELDLAB / "amd-mi300a-4gpu-tpx-rocmsmi610-changelog"
    many = read_text([(folder / "rocm-smi-showbus-b.txt").read_bytes()])
    assert told(many) == [("0000:01:00.0", 20), ("0001:01:00.0", 0), ("0002:01:00.0", 0), ("0003:01:00.0", 0)]
    topology = read_text([(folder / "rocm-smi-showtopo-tpx.txt").read_bytes()])
    assert topology.gpus is None  # twelve rows, some of one GPU: how many GPUs there are is not told


def test_the_second_die_of_an_mi250x_has_no_power_of_its_own() -> None:
    row = "{}    41.0c           {}   800Mhz   1600Mhz  0%   manual  {}    0%   0%\n"
    sheet = rocm_smi_table.read(row.format(0, "93.0W", "500.0W") + row.format(1, "N/A  ", "0.0W  "))
    assert [sheet.get(f"gpus[#{n}].index.smi") for n in (0, 1)] == [0, 1]
    assert [sheet.get(f"gpus[#{n}].sensors.power_w") for n in (0, 1)] == [93.0, None]


def test_the_model_of_the_board_is_no_id_of_the_chip() -> None:
    """Up to ROCm 5 it is written `Card model`."""
    shown = "GPU[0]\t\t: Card {}: \t\t0x0c34\nGPU[0]\t\t: Card Series: \t\tInstinct MI210\n"
    assert rocm_smi_table.read(shown.format("model")).get("gpus[#0].pci_id") is None
    assert rocm_smi_table.read(shown.format("Model")).get("gpus[#0].pci_id") == "1002:0c34"
