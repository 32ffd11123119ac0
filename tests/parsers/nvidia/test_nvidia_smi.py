"""nvidia-smi's outputs become facts: the captures of other machines, and small texts of our own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import ParserError
from doctor.facts import FactSheet, Snapshot, assemble
from doctor.parsers.nvidia import nvidia_smi_list, nvidia_smi_query, nvidia_smi_table, nvidia_smi_topo, nvidia_smi_xml
from doctor.parsers.nvidia.nvidia_smi_fields import address
from tests.each import each
from tests.paths import FIELDLAB, captured, needs_shared

Reader = Callable[[str, str], FactSheet]
READERS: tuple[Reader, ...] = (
    nvidia_smi_list.read,
    nvidia_smi_query.read,
    nvidia_smi_table.read,
    nvidia_smi_topo.read,
    nvidia_smi_xml.read,
)


def seen(read: Reader, text: str) -> Snapshot:
    return assemble([read(text, "text")])


def capture(path: str) -> str:
    return (FIELDLAB / path).read_text(encoding="utf-8", errors="replace")


def queries() -> list[tuple[str, dict[str, Any]]]:
    """(file, facts) of each -q capture, text or XML, that the index describes."""
    return [
        (f"{machine['machine']}/{file['path']}", machine["facts"])
        for machine in captured()
        if machine["class"] in ("nvidia-smi-xml", "nvidia-smi-text")
        for file in machine["files"]
        if Path(file["path"]).name in ("nvidia-smi-q.txt", "nvidia-smi-q.xml")
    ]


@needs_shared
def test_the_query_of_each_captured_machine() -> None:
    for path, facts in queries():
        machine = seen(nvidia_smi_xml.read if path.endswith(".xml") else nvidia_smi_query.read, capture(path))
        assert machine.nvidia_driver.version == facts["driver_version"], path
        if facts["cuda_version"][0].isdigit():
            assert machine.nvidia_driver.cuda_version == facts["cuda_version"], path
        assert len(machine.gpus or ()) == len(facts["gpus"]), path
        for told in facts["gpus"]:
            gpu = machine.get(f"gpus[{address(told['bus_id'])}]")
            assert (gpu.name, gpu.uuid, gpu.vbios) == (told["name"], told["uuid"], told["vbios"]), path
            if told.get("memory_total_mib"):
                assert gpu.memory_bytes == told["memory_total_mib"] << 20, path
            assert gpu.errors.ecc_enabled == {"Enabled": True, "Disabled": False}.get(told["ecc_mode"]), path
            mig = {"Enabled": "enabled", "Disabled": "disabled"}.get(told.get("mig_mode", ""))
            assert gpu.mig_mode == mig, path


@needs_shared
def test_the_memory_of_a_gpu_in_mig_mode_is_not_that_of_its_first_instance() -> None:
    path = "nvidia-h100-and-mig-capture/sections/linux-h100-mig-590.48.01/idle-q.txt"
    gpu = (seen(nvidia_smi_query.read, capture(path)).gpus or ())[0]
    assert gpu.memory_bytes == 81559 << 20
    assert [p.memory_bytes for p in gpu.partitions or ()] == [n << 20 for n in (40448, 20096, 9984, 9984)]


@needs_shared
def test_gpus_of_a_trimmed_document_get_no_number() -> None:
    machine = seen(nvidia_smi_xml.read, capture("nvidia-a100-sxm4-80g-mig-telegraf/nvidia-smi-q.xml"))
    assert [g.index.smi for g in machine.gpus or ()] == [None]


@needs_shared
def test_driver_610_says_kmd_and_umd_version() -> None:
    folder = "nvidia-rtx2080super-4drivers-capture/sections/linux-geforce-rtx-2080-super-610.57.04"
    for read, name in ((nvidia_smi_table.read, "idle-table.txt"), (nvidia_smi_query.read, "idle-q.txt")):
        driver = seen(read, capture(f"{folder}/{name}")).nvidia_driver
        assert (driver.version, driver.cuda_version) == ("610.57.04", "13.3")


@needs_shared
def test_numbers_pasted_without_the_row_above_them_are_the_first_gpus() -> None:
    sheet = nvidia_smi_table.read("| N/A   91C    P0    64W / 250W |  22104MiB / 24576MiB |    100%      Default |")
    assert (sheet.get("gpus[#0].sensors.temperature_c"), sheet.get("gpus[#0].sensors.power_limit_w")) == (91.0, 250.0)


@needs_shared
def test_a_pending_row_remap() -> None:
    machine = seen(
        nvidia_smi_query.read, capture("nvidia-a100-topo-and-remap-mlengineering/nvidia-smi-q-remapped-row.txt")
    )
    errors = machine.get("gpus[0000:10:1c.0].errors")
    assert (errors.remap_pending, errors.remap_failed, errors.remapped_correctable) == (True, False, 1)
    assert errors.corrected == 177


@needs_shared
def test_mig_without_instances_and_a_damaged_inforom() -> None:
    empty = seen(nvidia_smi_table.read, capture("nvidia-a100-mig-450-ncpdocs/nvidia-smi-mig-enabled-no-devices.txt"))
    assert [(g.mig_mode, g.partitions) for g in empty.gpus or ()] == [("enabled", ())]
    broken = seen(nvidia_smi_table.read, capture("nvidia-p100-inforom-corrupt-ncpdocs/nvidia-smi.txt"))
    assert broken.nvidia_driver.smi_error == "WARNING: infoROM is corrupted at gpu 0000:0B:00.0"
    assert [(g.name, g.memory_bytes) for g in broken.gpus or ()] == [(None, 16280 << 20)]


@needs_shared
def test_mig_uuids_of_both_forms() -> None:
    old = seen(nvidia_smi_list.read, capture("nvidia-a100-mig-450-ncpdocs/nvidia-smi-L-mixed.txt")).gpus or ()
    new = seen(nvidia_smi_list.read, capture("nvidia-h100-mig-list-ncpdocs/nvidia-smi-L-mixed.txt")).gpus or ()
    assert [p.name for p in old[0].partitions or ()] == ["3g.20gb", "2g.10gb", "1g.5gb"]
    assert (old[0].partitions or ())[0].uuid == "MIG-GPU-4200ccc0-2667-d4cb-9137-f932c716232a/2/0"
    assert [p.name for p in new[0].partitions or ()] == ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"]


@needs_shared
def test_topology() -> None:
    folder = "nvidia-a100-topo-and-remap-mlengineering"
    pair = seen(nvidia_smi_topo.read, capture(f"{folder}/nvidia-smi-topo-m-2gpu-nvlink.txt")).gpus or ()
    assert [(link.index, link.peer) for link in pair[0].links or ()] == [(0, "#1"), (1, "#1")]
    switched = seen(nvidia_smi_topo.read, capture(f"{folder}/nvidia-smi-topo-m-a100-8gpu.txt")).gpus or ()
    assert [len(g.links or ()) for g in switched] == [12] * 8
    assert [g.numa_node for g in switched] == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.148.08",
         "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
        ("Failed to initialize NVML: Unknown Error", "NVML_ERROR_UNKNOWN"),
        ("Failed to initialize NVML: Insufficient Permissions", "NVML_ERROR_NO_PERMISSION"),
    ],
)  # fmt: skip
def test_messages_instead_of_a_table(text: str, error: str) -> None:
    driver = seen(nvidia_smi_table.read, text).nvidia_driver
    assert driver.nvml_error == error
    assert (driver.smi_error or "").startswith("Failed to initialize NVML")


def test_no_devices_is_a_known_empty_list() -> None:
    assert seen(nvidia_smi_table.read, "No devices were found\n").gpus == ()
    with pytest.raises(ParserError):
        nvidia_smi_table.read("he said that no devices were found on it", "text")


def test_an_entity_bomb_is_refused() -> None:
    with pytest.raises(ParserError):
        nvidia_smi_xml.read('<!DOCTYPE a [<!ENTITY b "c">]><nvidia_smi_log>&b;</nvidia_smi_log>', "text")


@each("text", ["", "\n", "hello", "GPU 0", "\x00\x1b[31m", "+---+\n| x |"])
@each("read", READERS)
def test_what_is_not_theirs_is_an_error(read: Reader, text: str) -> None:
    with pytest.raises(ParserError):
        read(text, "text")


_SAMPLES = (
    "nvidia-h100-and-mig-capture/sections/linux-h100-mig-590.48.01/idle-table.txt",
    "nvidia-h100-and-mig-capture/sections/linux-h100-mig-590.48.01/L.txt",
    "nvidia-h100-and-mig-capture/sections/linux-h100-mig-590.48.01/topo-m.txt",
    "nvidia-h100-and-mig-capture/sections/linux-h100-mig-590.48.01/idle-q.txt",
    "nvidia-a10g-aws-telegraf/nvidia-smi-q.xml",
)


@needs_shared
@pytest.mark.parametrize("path", _SAMPLES)
def test_cut_texts_give_facts_or_a_reader_error(path: str) -> None:
    lines = capture(path).splitlines(keepends=True)
    for end in range(0, len(lines), max(1, len(lines) // 60)):
        for read in READERS:
            with suppress(ParserError):
                assemble([read("\x1b[1m" + "".join(lines[:end]).replace("\n", "\r\n"), "text")])


@needs_shared
@pytest.mark.parametrize(("path", "read"), list(zip(_SAMPLES, (
    nvidia_smi_table.read, nvidia_smi_list.read, nvidia_smi_topo.read, nvidia_smi_query.read, nvidia_smi_xml.read),
    strict=True)))  # fmt: skip
def test_windows_line_ends_change_nothing(path: str, read: Reader) -> None:
    text = capture(path)
    assert seen(read, text.replace("\n", "\r\n")) == seen(read, text)
