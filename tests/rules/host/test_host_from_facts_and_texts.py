"""Host rules that weigh facts and what a text tells: each fires, nearly misses, and is silent on the unknown."""

# ruff: noqa: E501

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from doctor.rules.host import (
    apu_memory_pool_misconfigured,
    compute_mode_exclusive,
    gpu_throttled,
    integrated_gpu_conflict,
    large_bar_disabled,
    mig_misconfigured,
    pcie_p2p_unusable,
    persistence_mode_off,
)
from tests.rules.driver.asked import found
from tests.rules.machines import build, event

CARD = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1100"}
APU = {"gpus[#1].vendor": "amd", "gpus[#1].arch": "gfx1036"}
HALO = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1151"}
MI50 = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx906", "gpus[#0].name": "AMD Instinct MI50"}
TWO = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA GeForce RTX 4090", "gpus[#1].vendor": "nvidia"}
A100 = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA A100-SXM4-80GB"}
ASKED = "environment[CUDA_VISIBLE_DEVICES]"
Row = tuple[ModuleType, dict[str, Any], dict[str, Any], str]

ROWS: tuple[Row, ...] = (
    (integrated_gpu_conflict, CARD | APU, {"environment[HIP_VISIBLE_DEVICES]": "0"}, "gpus[#1].arch"),
    (apu_memory_pool_misconfigured, HALO | {"symptoms": {"cuda-out-of-memory": "HIP out of memory"}}, CARD, "symptoms"),
    (
        apu_memory_pool_misconfigured,
        HALO | {"gpus[#0].memory_bytes": 1 << 29, "gpus[#0].gtt_bytes": 15 << 30, "host.memory_bytes": 128 << 30},
        {"gpus[#0].gtt_bytes": 96 << 30},
        "host.memory_bytes",
    ),
    (
        large_bar_disabled,
        MI50 | {"gpus[#0].memory_bytes": 16 << 30, "gpus[#0].visible_memory_bytes": 256 << 20},
        {"gpus[#0].visible_memory_bytes": 16 << 30},
        "gpus[#0].visible_memory_bytes",
    ),
    (
        large_bar_disabled,
        event("amdgpu-probe-failed", "0000:83:00.0", "amdgpu: probe of 0000:83:00.0 failed with error -12"),
        {"kernel_log.events": None},
        "kernel_log.events",
    ),
    (pcie_p2p_unusable, TWO | {"symptoms": {"output-garbage": "gibberish"}}, {"gpus[#1]": None}, "symptoms"),
    (mig_misconfigured, A100 | {ASKED: "MIG-4f1a,MIG-5f1a"}, {ASKED: "MIG-4f1a"}, "environment"),
    (
        mig_misconfigured,
        {"nvidia_driver.version": "570.133.20", "symptoms": {"mig-mentioned": "MIG 1g.10gb"}},
        {"nvidia_driver.version": "570.172.08"},
        "nvidia_driver.version",
    ),
    (gpu_throttled, A100 | {"gpus[#0].sensors.throttle_reasons": ["HwSlowdown"]}, {"gpus[#0].sensors.throttle_reasons": ["SwPowerCap"]}, "gpus"),
    (
        gpu_throttled,
        A100 | {"gpus[#0].sensors.power_limit_w": 100.0, "gpus[#0].sensors.power_limit_default_w": 400.0},
        {"gpus[#0].sensors.power_limit_w": 400.0},
        "gpus[#0].sensors.power_limit_default_w",
    ),
    (
        compute_mode_exclusive,
        A100 | {"gpus[#0].compute_mode": "E. Process", "symptoms": {"cuda-devices-busy": "busy or unavailable"}},
        {"gpus[#0].compute_mode": "Default"},
        "gpus[#0].compute_mode",
    ),
)  # fmt: skip
IDS = [f"{row[0].RULE.id}-{n}" for n, row in enumerate(ROWS)]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_it_fires(row: Row) -> None:
    assert found(row[0], build(row[1]))


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_it_nearly_misses(row: Row) -> None:
    assert found(row[0], build(row[1], row[2])) == []


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_it_is_silent_on_the_unknown(row: Row) -> None:
    assert found(row[0], build(row[1], {row[3]: None})) == []


def test_a_slow_start_makes_persistence_mode_a_warning() -> None:
    off = A100 | {"gpus[#0].persistence_mode": False}
    (quiet,) = found(persistence_mode_off, build(off))
    (loud,) = found(persistence_mode_off, build(off | {"symptoms": {"slow-start-told": "first CUDA call takes 20 s"}}))
    assert (quiet.severity.value, loud.severity.value) == ("info", "warning")


def test_a_choice_of_the_card_that_helps_blames_the_integrated_gpu() -> None:
    both = build(CARD | APU | {"symptoms": {"device-choice-helps": "HIP_VISIBLE_DEVICES=0 avoids the segfault"}})
    (finding,) = found(integrated_gpu_conflict, both)
    assert finding.severity.value == "warning"
    assert "amd-gpu-unsupported-by-rocm" in finding.explains
