from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.facts import assemble
from doctor.parsers.amd import amd_smi_json, rocm_smi_json
from tests.each import each
from tests.paths import FIELDLAB, needs_shared


@needs_shared
def test_amd_smi_of_an_mi210_gives_no_version_for_the_kernel_s_banner() -> None:
    machine = assemble(
        [amd_smi_json.read((FIELDLAB / "amd-mi210-amdsmi-static-json-dme/amd-smi-static.json").read_text())]
    )
    [gpu] = machine.gpus or ()
    assert (gpu.name, gpu.arch, gpu.memory_bytes) == ("AMD Instinct MI210", "gfx90a", 65520 << 20)
    assert (gpu.numa_node, gpu.compute_units, machine.amdgpu_driver.version) == (1, 104, None)
    assert machine.source("gpus[#0].name") == "text:4"


@needs_shared
@pytest.mark.parametrize("rocm", ["430", "571", "602", "612"])
def test_rocm_smi_of_one_card_under_four_releases(rocm: str) -> None:
    text = (FIELDLAB / f"amd-rx6700xt-4rocm-telegraf/rx6700xt_rocm{rocm}.json").read_text()
    [gpu] = assemble([rocm_smi_json.read(text)]).gpus or ()
    assert (gpu.pci_address, gpu.pci_id, gpu.memory_bytes) == ("0000:07:00.0", "1002:73df", 12868124672)
    assert gpu.name is None or gpu.name.startswith("Navi 22")


@needs_shared
def test_six_mi100() -> None:
    text = (FIELDLAB / "amd-mi100-6gpu-rocm571-telegraf/mi100_rocm571.json").read_text()
    assert len(assemble([rocm_smi_json.read(text)]).gpus or ()) == 6


def test_older_amd_smi_prints_a_list_after_a_warning() -> None:
    text = 'WARNING: no permission\n[{"gpu": 0, "bdf": "0000:C1:00.0", "node_id": 1}]'
    [gpu] = assemble([amd_smi_json.read(text)]).gpus or ()
    assert (gpu.pci_address, gpu.index.kfd) == ("0000:c1:00.0", 1)


@each("text", ["", "{", "[]", "{}", "null", '{"gpu_data": 3}', "[" * 5000, "rocm-smi: not found"])
def test_other_texts_are_refused(text: str) -> None:
    for reader in (amd_smi_json.read, rocm_smi_json.read):
        with pytest.raises(ParserError):
            reader(text, "text")
