"""Host rules judge facts: each fires, nearly misses, and stays silent on the unknown."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from tests.rules.machines import H100, h100_host

GPU = f"gpus[{H100[0]}]"
FIRES: tuple[tuple[str, str, Any], ...] = (
    ("iommu-not-passthrough", "host.iommu", "translated"),
    ("numa-balancing-enabled", "host.numa_balancing", 1),
    ("cpu-governor-powersave", "host.cpu_governor", "powersave"),
    ("persistence-mode-off", f"{GPU}.persistence_mode", False),
    ("compute-mode-exclusive", f"{GPU}.compute_mode", "Prohibited"),
    ("gpu-throttled", f"{GPU}.sensors.throttle_reasons", ["hw-thermal-slowdown"]),
)
NEAR_MISSES: tuple[tuple[str, Any], ...] = (
    ("host.iommu", "passthrough"),
    ("host.numa_balancing", 0),
    ("host.cpu_governor", "performance"),
    (f"{GPU}.persistence_mode", True),
    (f"{GPU}.compute_mode", "Default"),
    (f"{GPU}.sensors.throttle_reasons", ["sw-power-cap"]),
)


def raised(name: str, value: Any) -> set[str]:
    return {f.rule for f in judge(h100_host({name: value}), Knowledge()).findings}


@pytest.mark.parametrize(("rule", "name", "value"), FIRES, ids=[r for r, _, _ in FIRES])
def test_it_fires(rule: str, name: str, value: Any) -> None:
    assert rule in raised(name, value)


@pytest.mark.parametrize(("name", "value"), NEAR_MISSES, ids=[n for n, _ in NEAR_MISSES])
def test_it_nearly_misses(name: str, value: Any) -> None:
    assert raised(name, value) == set()


@pytest.mark.parametrize("name", [n for n, _ in NEAR_MISSES])
def test_it_is_silent_on_the_unknown(name: str) -> None:
    assert raised(name, None) == set()
