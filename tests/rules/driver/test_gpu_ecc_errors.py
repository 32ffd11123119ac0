"""gpu-ecc-errors: both vendors."""

from __future__ import annotations

from doctor.rules.driver import gpu_ecc_errors as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.H100[0]}].errors"
AMD = machines.MI300X[0]


def test_uncorrected_errors() -> None:
    (finding,) = found(rule, machines.h100_host({f"{GPU}.uncorrected": 3, f"{GPU}.remap_pending": True}))
    assert finding.summary == "GPU 0000:1b:00.0: 3 uncorrected memory errors, a memory row remap needs a GPU reset."
    assert finding.severity.value == "error"
    assert argvs(finding)[0] == ("nvidia-smi", "--gpu-reset", "-i", machines.H100[0])


def test_amd_counters_and_log() -> None:
    bad = told(rule, machines.mi300x_host({f"gpus[{AMD}].errors.bad_pages": 2}))
    assert bad == [("warning", AMD, f"GPU {AMD}: 2 bad memory pages.")]
    logged = told(rule, machines.mi300x_host(machines.event("amdgpu-ras-uncorrectable", AMD)))
    assert logged == [("error", AMD, f"GPU {AMD}: uncorrectable memory errors in the kernel log.")]


def test_lifetime_errors_alone_are_info() -> None:
    (finding,) = found(rule, machines.h100_host({f"{GPU}.uncorrected_lifetime": 7}))
    assert finding.severity.value == "info"


def test_near_miss_and_unknown() -> None:
    assert found(rule, machines.h100_host({f"{GPU}.corrected": 900})) == []
    assert found(rule, machines.h100_host({GPU: None})) == []
