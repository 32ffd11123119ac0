"""lspci -vvv: which bridges above a GPU redirect, and links of devices that are no GPUs."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text
from tests.paths import FIELDLAB, needs_shared


def bridge(address: str, buses: tuple[str, str], sign: str) -> str:
    return f"""{address} PCI bridge: PMC-Sierra Inc. Device 4128 (prog-if 00 [Normal decode])
\tBus: primary=80, secondary={buses[0]}, subordinate={buses[1]}, sec-latency=0
\tCapabilities: [170 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir{sign} CmpltRedir{sign} UpstreamFwd{sign} EgressCtrl- DirectTrans-
"""


def gpu(address: str) -> str:
    return f"""{address} 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)
"""


GPUS = gpu("83:00.0") + gpu("93:00.0")


def told(text: str) -> tuple[Snapshot, set[str]]:
    machine = read_text([text.encode()])
    return machine, {f.rule for f in judge(machine, Knowledge()).findings if f.severity.value != "info"}


def test_a_bridge_above_a_gpu_that_redirects() -> None:
    machine, raised = told(bridge("82:00.0", ("83", "83"), "+") + GPUS)
    assert [(d.key, d.acs_redirect) for d in machine.pci or () if d.acs_redirect is not None] == [
        ("0000:82:00.0", True)
    ]
    assert "pcie-acs-enabled" in raised


@pytest.mark.parametrize("elsewhere", [("a0", "af"), ("84", "92")])
def test_one_that_redirects_above_something_else(elsewhere: tuple[str, str]) -> None:
    text = bridge("82:00.0", ("83", "83"), "-") + bridge("82:01.0", elsewhere, "+") + GPUS
    assert "pcie-acs-enabled" not in told(text)[1]


def test_a_line_without_its_device_still_counts() -> None:
    assert "pcie-acs-enabled" in told("ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n")[1]


def test_a_narrow_link_of_a_disk_is_no_gpu_s() -> None:
    disk = """71:00.0 RAID bus controller: HighPoint Technologies, Inc. SSD7540 (rev 01)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16
\t\tLnkSta:\tSpeed 5GT/s (downgraded), Width x1 (downgraded)
"""
    assert "pcie-link-degraded" not in told(disk)[1]
    assert "pcie-link-degraded" not in told(disk + GPUS)[1]
    narrow = GPUS.replace("Width x16 (ok)", "Width x4 (downgraded)", 1).replace(
        "\t\tLnkSta", "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta", 1
    )
    assert "pcie-link-degraded" in told(disk + narrow)[1]
    assert "pcie-link-degraded" in told("LnkSta: Speed 5GT/s (ok), Width x1 (downgraded)\n")[1]


@needs_shared
def test_a_server_whose_switches_alone_sit_below_redirecting_bridges() -> None:
    text = (FIELDLAB / "nvidia-h100-8gpu-xe9680-gpud" / "lspci-vvv.txt").read_text(errors="replace")
    machine, raised = told(text)
    assert {d.acs_redirect for d in machine.pci or ()} == {None, False}
    assert raised == set()
