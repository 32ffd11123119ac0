"""The firmware bundle as the driver's file, amd-smi's text and its JSON tell it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.errors import ParserError
from doctor.facts import Snapshot
from doctor.facts.origin import State
from doctor.parsers.amd import amd_smi_json, amd_smi_text
from doctor.parsers.amd.drm_amdgpu import firmware_bundle
from doctor.profiles import load
from doctor.triage.read import read_text
from tests.probes.amd_trees import look, mi300x, write

TEXT = """GPU: 0
    FW_LIST:
        FW 10:
            FW_ID: TA_XGMI
            FW_VERSION: 20.00.00.14
        FW 11:
            FW_ID: PM
            FW_VERSION: 00.85.129.03
        FW 12:
            FW_ID: PLDM_BUNDLE
            FW_VERSION: 01.25.03.12

GPU: 1
    FW_LIST:
        FW 11:
            FW_ID: PM
            FW_VERSION: 00.85.129.03
        FW 12:
            FW_ID: PLDM_BUNDLE
            FW_VERSION: N/A
"""
ROWS = [
    {"gpu": 0, "fw_list": [{"fw_id": "PM", "fw_version": "00.85.129.03"},
                           {"fw_id": "PLDM_BUNDLE", "fw_version": "01.25.03.12"}]},
    {"gpu": 1, "fw_list": "N/A"},
]  # fmt: skip


def bundles(machine: Snapshot) -> list[str | None]:
    return [gpu.firmware_bundle for gpu in machine.gpus or ()]


def test_a_byte_of_the_file_is_a_number_of_the_version() -> None:
    assert firmware_bundle("0x0119030c\n") == "01.25.03.12"
    assert firmware_bundle("0x011a0004") == "01.26.00.04"
    for nothing in ("0x00000000\n", "0xffffffff", "", "0x119", "01.25.03.12"):
        with pytest.raises(ParserError):
            firmware_bundle(nothing)


def test_only_the_bundle_of_all_firmwares_is_one() -> None:
    sheet = amd_smi_text.read(TEXT)
    assert (sheet.get("gpus[#0].firmware_bundle"), sheet.get("gpus[#1].firmware_bundle")) == ("01.25.03.12", None)
    for text in (json.dumps(ROWS, indent=1), json.dumps({"gpu_data": ROWS})):
        sheet = amd_smi_json.read(text)
        assert (sheet.get("gpus[#0].firmware_bundle"), sheet.get("gpus[#1].firmware_bundle")) == ("01.25.03.12", None)


def test_a_pasted_listing_is_found() -> None:
    assert bundles(read_text([f"$ amd-smi firmware\n{TEXT}".encode()])) == ["01.25.03.12", None]


def test_a_card_whose_driver_has_the_file_is_held_against_the_matrix(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05, 0xC1)
    folders = [f"sys/class/drm/card{n}/device/fw_version" for n in (0, 1)]
    write(tmp_path, {f"{folders[0]}/pldm_fw_version": "0x01190605\n", f"{folders[1]}/pldm_fw_version": "0x0119030c\n"})
    machine = look(tmp_path)
    assert bundles(machine) == ["01.25.06.05", "01.25.03.12"]
    (row,) = [j for j in load("mi300x+rocm7.14").verdict(machine, "named", "").judged if "firmware_bundle" in j.fact]
    assert (row.outcome, row.found) == ("deviates", "01.25.03.12")
    write(tmp_path, {f"{folders[1]}/pldm_fw_version": "0x011a0004\n"})
    (row,) = [j for j in load("mi300x+rocm7.14").verdict(look(tmp_path), "named", "").judged if "_bundle" in j.fact]
    assert row.outcome == "holds"


@pytest.mark.parametrize("content", [None, "0x00000000\n"])
def test_a_driver_that_does_not_tell_leaves_it_unknown(tmp_path: Path, content: str | None) -> None:
    mi300x(tmp_path, 0x05)
    if content:
        write(tmp_path, {"sys/class/drm/card0/device/fw_version/pldm_fw_version": content})
    machine = look(tmp_path)
    assert bundles(machine) == [None]
    state = machine.origins["gpus[0000:05:00.0].firmware_bundle"].state
    assert state is (State.UNREADABLE if content else State.ABSENT)
    (row,) = [j for j in load("mi300x+rocm7.14").verdict(machine, "named", "").judged if "_bundle" in j.fact]
    assert row.outcome == "unknown"
