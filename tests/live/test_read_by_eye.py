"""Every captured machine of the field: its findings were read by eye against what the index says, and are held here.

A capture that is not in the table raises no error and no warning: what the index calls a pitfall is none of either.
Captured trees of sysfs are held by test_fieldlab_roots.
"""

from __future__ import annotations

import pytest

from doctor.findings import Report
from tests.captures_read import judged
from tests.live.trees import CLASSES
from tests.paths import FIELDLAB, captured, needs_shared
from tests.triage.test_fieldlab import Record

pytestmark = needs_shared
Told = list[tuple[str, str, str]]

TRUE: dict[str, Told] = {
    "nvidia-a100sxmx4-gls/nvidia-smi-q.txt": [("warning", "gpu-ecc-errors", "0000:9e:00.0")],
    "nvidia-xid119-gsp-timeout-kmsg-gpud/dmesg-T.log": [("error", "nvidia-xid-fatal", "0000:9b:00.0")],
    "nvidia-a100-azure-nhc/bad_nvsmi8_output.txt": [
        ("warning", "gpu-ecc-errors", f"000{number}:00:00.0") for number in (2, 4, 6, 8)
    ],
    "nvidia-a100-azure-nhc/bad_nvlink_status.txt": [("warning", "gpu-fabric-degraded", "#6")],
    "nvidia-a100-topo-and-remap-mlengineering/nvidia-smi-q-remapped-row.txt": [
        ("warning", "gpu-ecc-errors", "0000:10:1c.0")
    ],
    "nvidia-a100-topo-and-remap-mlengineering/dmesg-xid63.txt": [("warning", "gpu-ecc-errors", "0000:10:1c.0")],
    "amd-rx6700xt-ring-timeout-reset-ok-journal/journal.txt": [("warning", "amdgpu-gpu-hang", "0000:0b:00.0")],
    "nvidia-a100-mig-450-ncpdocs/nvidia-smi-mig-enabled-no-devices.txt": [
        ("error", "mig-misconfigured", "0000:00:04.0")
    ],
    "nvidia-p100-inforom-corrupt-ncpdocs/nvidia-smi.txt": [("warning", "gpu-inforom-corrupted", "0000:0b:00.0")],
    "nvidia-rtx4060ti-gls/nvidia-smi-q.txt": [("warning", "pcie-link-degraded", "0000:03:00.0")],
}
"""A page retirement or a row remap waits for a reset in four captures, a card of eight lanes runs on four; what else
the index calls a fault is what the names of its files say."""
REMARKS: dict[str, Told] = {
    "amd-mi100-rocprof-sysinfo/sysinfo.csv": [("info", "amdgpu-kernel-or-os-unsupported", "rocky")],
    "amd-mi300a-a1-rocprof-sysinfo/sysinfo.csv": [("info", "amdgpu-kernel-or-os-unsupported", "ubuntu")],
    "nvidia-fabricmanager-nvswitch-error-gpud/fabricmanager.log": [("info", "nvidia-xid-nonfatal", "0000:86:00.0")],
    "nvidia-gh200-gls/nvidia-smi-q.txt": [("info", "gpu-ecc-errors", "0000:dd:00.0")],
    "nvidia-k80-4gpu-azure-pai/nvidia-smi-q.xml": [
        ("info", "gpu-ecc-errors", "1580:00:00.0"),
        ("info", "gpu-ecc-errors", "2df7:00:00.0"),
    ],
}
"""What is worth knowing and no fault of today. Rocky 9.1 is in no list of ROCm 6.0, Ubuntu 22.04.2 in none of 6.1.2:
true, and both ran."""


def told(read: Report, *severities: str) -> Told:
    return sorted((f.severity.value, f.rule, f.subject.id) for f in read.findings if f.severity.value in severities)


def texts(row: Record) -> list[str]:
    if row["class"] in CLASSES:
        return []
    paths = [f"{row['machine']}/{file['path']}" for file in row["files"]]
    return [path for path in paths if not path.endswith((".gz", ".bz2")) and (FIELDLAB / path).is_file()]


@pytest.mark.parametrize("row", [row for row in captured() if texts(row)], ids=lambda row: str(row["machine"]))
def test_what_is_true_is_told_and_nothing_else(row: Record) -> None:
    for path in texts(row):
        assert told(judged(path), "error", "warning") == sorted(TRUE.get(path, [])), path


@pytest.mark.parametrize("path", sorted(REMARKS))
def test_a_remark(path: str) -> None:
    assert set(REMARKS[path]) <= set(told(judged(path), "info"))


def test_no_tool_s_words_are_taken_for_a_complaint() -> None:
    """`llc: not found` of hipconfig, `optional ras ta ucode is not available`: pitfalls of the index."""
    for path in (
        "amd-strix-halo-rocm712-localdoc/hipconfig_full.txt",
        "amd-rx6700xt-ring-timeout-reset-ok-journal/journal.txt",
    ):
        assert "framework-sees-no-gpu" not in {f.rule for f in judged(path).findings}


def test_every_line_of_the_table_is_a_capture() -> None:
    there = {path for row in captured() for path in texts(row)}
    assert there >= TRUE.keys() | REMARKS.keys()


def test_at_least_forty_machines_were_read() -> None:
    assert len([row for row in captured() if texts(row)]) >= 40
