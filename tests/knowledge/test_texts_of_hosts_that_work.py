"""Boot lines, idle readings and settings of machines that work accuse nothing; beside what fails they count."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.facts import Snapshot
from doctor.triage.read import read_text
from tests.knowledge.texts import KB, keys, raised

RX = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n  Vendor Name:             AMD\n"
RX += "  Device Type:             GPU\n"
OVERRIDE = RX.format("gfx1031") + "$ env\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n"
UNLISTED = "OS: Debian 11\nROCm version: 5.4.3\n" + RX.format("gfx1030")


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("which of these lines matter?\n" + UNLISTED, "amdgpu-kernel-or-os-unsupported"),
        (
            "ROCm version: 6.2.4\n" + RX.format("gfx1101") + "SyntaxWarning: invalid escape\n",
            "amd-gpu-unsupported-by-rocm",
        ),
        (OVERRIDE + "the fan is loud\n", "hsa-override-misuse"),
        (
            "$ env\nNCCL_IB_DISABLE=1\nn1:3310:3402 [0] NCCL INFO Connected all rings\nit prints so much\n",
            "collective-flag-misconfigured",
        ),
    ],
)
def test_what_is_only_not_listed_stays_a_remark(text: str, rule: str) -> None:
    assert rule not in raised(text)
    assert rule in [f.rule for f in judge(of(text), KB).findings]


def test_the_device_plugin_waits_on_nodes_without_a_gpu() -> None:
    assert "nvidia-smi-no-devices" not in keys("I0912 main.go:346] No devices found. Waiting indefinitely.")
    assert "nvidia-smi-no-devices" in keys("No devices were found")


def test_a_fault_of_both_names_of_a_family_says_so() -> None:
    text = "ROCm version: 6.4.3\n" + RX.format("gfx1200") + "torch gives wrong results, NaN\n"
    said = [f.summary for f in judge(of(text), KB).findings if f.rule == "known-bad-library-version"]
    assert any("gfx1200" in summary for summary in said)
