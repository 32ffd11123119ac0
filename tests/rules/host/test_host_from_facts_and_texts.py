"""Host rules that weigh facts and what a text tells: each fires, nearly misses, and is silent on the unknown."""

# ruff: noqa: E501

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.host import (
    apu_memory_pool_misconfigured,
    compute_mode_exclusive,
    gpu_throttled,
    integrated_gpu_conflict,
    large_bar_disabled,
    mig_misconfigured,
    pcie_atomics_missing,
    pcie_link_degraded,
    persistence_mode_off,
)
from tests.each import each
from tests.knowledge.texts import raised
from tests.rules.driver.asked import found
from tests.rules.machines import build, event

CARD = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1100"}
APU = {"gpus[#1].vendor": "amd", "gpus[#1].arch": "gfx1036"}
HALO = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx1151"}
MI50 = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx906", "gpus[#0].name": "AMD Instinct MI50"}
TWO = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA GeForce RTX 4090", "gpus[#1].vendor": "nvidia"}
A100 = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA A100-SXM4-80GB"}
P40 = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "Tesla P40"}
HOT = {
    "gpus[#0].sensors.temperature_c": 91.0,
    "gpus[#0].sensors.power_w": 64.0,
    "gpus[#0].sensors.power_limit_w": 250.0,
    "gpus[#0].sensors.utilisation_percent": 100.0,
}
POLARIS = {"gpus[#0].vendor": "amd", "gpus[#0].arch": "gfx803", "host.cpu": "Intel Core i7 3770K"}
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
    (mig_misconfigured, A100 | {ASKED: "MIG-4f1a,MIG-5f1a"}, {ASKED: "MIG-4f1a"}, "environment"),
    (gpu_throttled, A100 | {"gpus[#0].sensors.throttle_reasons": ["HwSlowdown"]}, {"gpus[#0].sensors.throttle_reasons": ["SwPowerCap"]}, "gpus"),
    (
        gpu_throttled,
        A100 | {"gpus[#0].sensors.power_limit_w": 100.0, "gpus[#0].sensors.power_limit_default_w": 400.0},
        {"gpus[#0].sensors.power_limit_w": 400.0},
        "gpus[#0].sensors.power_limit_default_w",
    ),
    (gpu_throttled, P40 | HOT, {"gpus[#0].sensors.power_w": 240.0}, "gpus[#0].sensors.temperature_c"),
    (
        pcie_atomics_missing,
        POLARIS | {"symptoms": {"rocm-no-agent-told": "rocminfo only lists the CPU"}},
        {"host.cpu": "Intel(R) Core(TM) i7-4770K CPU @ 3.50GHz"},
        "host.cpu",
    ),
    (
        compute_mode_exclusive,
        A100 | {"gpus[#0].compute_mode": "E. Process", "symptoms": {"cuda-devices-busy": "busy or unavailable"}},
        {"gpus[#0].compute_mode": "Default"},
        "gpus[#0].compute_mode",
    ),
)  # fmt: skip


@each("row", ROWS)
def test_it_fires(row: Row) -> None:
    assert found(row[0], build(row[1]))


@each("row", ROWS)
def test_it_nearly_misses(row: Row) -> None:
    assert found(row[0], build(row[1], row[2])) == []


@each("row", ROWS)
def test_it_is_silent_on_the_unknown(row: Row) -> None:
    assert found(row[0], build(row[1], {row[3]: None})) == []


@each(
    "cpu, has_none",
    [
        ("Intel(R) Xeon(R) CPU X5650 @ 2.67GHz", True),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", True),
        ("Intel(R) Xeon(R) CPU E5-2670 v3 @ 2.30GHz", False),
        ("Intel(R) Core(TM) i5-2500K CPU @ 3.30GHz", True),
        ("Intel(R) Core(TM) i5-10400 CPU @ 2.90GHz", False),
        ("AMD FX(tm)-8350 Eight-Core Processor", True),
        ("AMD Ryzen 7 1800X Eight-Core Processor", False),
        ("AMD Ryzen AI 9 HX 370", False),
        ("AMD EPYC 7351P 16-Core Processor", False),
    ],
)
def test_which_cpus_have_no_atomics(cpu: str, has_none: bool) -> None:
    assert bool(found(pcie_atomics_missing, build(POLARIS | {"host.cpu": cpu}))) is has_none


def test_a_gpu_that_rocm_lists_has_its_atomics() -> None:
    listed = {"kfd.nodes[1].gfx": "gfx803", "kfd.nodes[1].simd_count": 144}
    assert found(pcie_atomics_missing, build(POLARIS | listed)) == []


def test_one_finding_tells_of_persistence_mode_on_all_gpus() -> None:
    off = A100 | {"gpus[#0].persistence_mode": False, "gpus[#1].vendor": "nvidia", "gpus[#1].persistence_mode": False}
    assert len(found(persistence_mode_off, build(off))) == 1


TABLE = "index, name, driver_version, {}\n0, {}\n1, {}\n"
CAPPED = TABLE.format(
    "power.draw [W], power.limit [W], power.default_limit [W]",
    "NVIDIA GeForce RTX 3090, 550.107.02, 24.11 W, 220.00 W, 350.00 W",
    "NVIDIA GeForce RTX 3090, 550.107.02, 21.90 W, 220.00 W, 350.00 W",
)
NARROW = TABLE.format(
    "pcie.link.width.current, pcie.link.width.max",
    "NVIDIA GeForce RTX 3060, 560.35.03, 4, 16",
    "NVIDIA GeForce RTX 3060, 560.35.03, 4, 16",
)
EXCLUSIVE = TABLE.format(
    "compute_mode",
    "Tesla V100-SXM2-32GB, 535.161.08, Exclusive_Process",
    "Tesla V100-SXM2-32GB, 535.161.08, Exclusive_Process",
)
OFF = "index, name, driver_version, persistence_mode\n0, NVIDIA L40S, 570.86.15, Disabled\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (NARROW.replace("560.35.03, 4, 16\n1", "560.35.03, 16, 16\n1"), "pcie-link-degraded"),
        (EXCLUSIVE + "CUDA error: all CUDA-capable devices are busy or unavailable", "compute-mode-exclusive"),
    ],
)
def test_a_setting_that_work_suffers_from(text: str, cause: str) -> None:
    assert cause in raised(text)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (CAPPED, "gpu-throttled"),
        (NARROW, "pcie-link-degraded"),
        (EXCLUSIVE, "compute-mode-exclusive"),
        (
            "|  0  Tesla V100  On | N/A 41C  P0  38W / 250W | 812MiB / 32510MiB | 37%   E. Process |",
            "compute-mode-exclusive",
        ),
        (OFF + "vLLM starts slow since torch.compile is on", "persistence-mode-off"),
    ],
)
def test_a_setting_that_somebody_chose(text: str, cause: str) -> None:
    assert cause not in raised(text)


LOW: dict[str, Any] = {"gpus[#0].sensors.power_limit_w": 100.0, "gpus[#0].sensors.power_limit_default_w": 400.0}
FEW_LANES: dict[str, Any] = {f"gpus[#{n}].link.{k}": v for n in (0, 1) for k, v in (("width", 4), ("max_width", 16))}
BUSY: dict[str, Any] = {"gpus[#0].compute_mode": "Exclusive_Process", "gpus[#0].processes": 1}


@pytest.mark.parametrize(
    ("rule", "cards", "facts", "severity"),
    [
        (gpu_throttled, A100, LOW, "warning"),
        (pcie_link_degraded, TWO, FEW_LANES, "warning"),
        (compute_mode_exclusive, A100, BUSY, "error"),
    ],
)
def test_on_the_machine_itself_what_somebody_may_have_chosen_is_told(
    rule: ModuleType, cards: dict[str, Any], facts: dict[str, Any], severity: str
) -> None:
    """In a pasted text it is a remark until work suffers (tests of pasted texts)."""
    machine = build({**cards, **facts})
    assert {finding.severity.value for finding in rule.check(machine, Knowledge(), None)} == {severity}
