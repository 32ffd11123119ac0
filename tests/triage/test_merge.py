"""What several pieces of one text say, put together."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts import FactSheet
from doctor.triage.merge import one_log
from doctor.triage.read import read_text


def piece(*events: dict[str, Any], line: int = 1) -> FactSheet:
    sheet = FactSheet()
    sheet.put("kernel_log.events", list(events), f"text:{line}")
    sheet.put("nvidia_driver.version", f"575.{line}", f"text:{line}")
    return sheet


def hang(count: int, last: str) -> dict[str, Any]:
    return {
        "key": "amdgpu-gpu-reset",
        "code": "amdgpu-gpu-reset",
        "count": count,
        "text": "GPU reset begin!",
        "last": last,
    }


def test_a_piece_of_the_log_without_events_does_not_hide_those_of_the_next() -> None:
    first, *rest = one_log([piece(), piece(hang(1, "1.0"), line=50), piece(hang(2, "9.0"), line=90)])
    (entry,) = first
    assert entry.value == [hang(3, "9.0")]
    assert entry.source == "text:50"
    assert [[e.name for e in sheet] for sheet in rest] == [["nvidia_driver.version"]] * 3


def test_one_piece_stays_as_it_is() -> None:
    sheets = [piece(hang(1, "1.0")), FactSheet()]
    assert one_log(sheets) == sheets


SMI = (
    "$ rocm-smi\n"
    "Device  Node  IDs              Temp    Power  Partitions          SCLK  MCLK   Fan  Perf  PwrCap  VRAM%  GPU%\n"
    "              (DID,     GUID)  (Edge)  (Avg)  (Mem, Compute, ID)\n"
    "0       1     0x73ff,   28151  41.0C   9.0W   N/A, N/A, 0         0Mhz  96Mhz  0%   auto  100.0W  0%     0%\n\n"
)
GGML = "ggml_cuda_init: found 1 ROCm devices:\n  Device 0: AMD Radeon {}, gfx1030 (0x1030), VMM: no, Wave Size: 32\n\n"


@pytest.mark.parametrize("text", [SMI + GGML, GGML + SMI])
def test_what_an_override_pretends_makes_no_second_gpu(text: str) -> None:
    override = "$ env\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    (gpu,) = read_text([(text.format("Graphics") + override).encode()]).gpus or ()
    assert (gpu.arch, gpu.pci_id) == ("gfx1032", "1002:73ff")
    assert len(read_text([text.format("Graphics").encode()]).gpus or ()) == 2


def test_a_gpu_of_another_name_under_an_override_is_another_gpu() -> None:
    text = SMI + GGML.format("RX 6800 XT") + "$ env\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    assert sorted(str(gpu.arch) for gpu in read_text([text.encode()]).gpus or ()) == ["gfx1030", "gfx1032"]


def test_where_nothing_else_is_known_of_the_gpu_the_runtime_is_believed() -> None:
    text = GGML.format("Graphics") + "$ env\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    (gpu,) = read_text([text.encode()]).gpus or ()
    assert gpu.arch == "gfx1030"
