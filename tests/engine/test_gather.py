"""Probes side by side: what hangs or crashes costs only itself."""

from __future__ import annotations

import time
from pathlib import Path

from doctor.engine.gather import gather
from doctor.engine.registry import Probe, checks, probes
from doctor.facts import FactSheet, State
from doctor.system.base import System
from doctor.system.tree import TreeSystem


def good(system: System, sheet: FactSheet) -> None:
    sheet.put("os.id", "ubuntu", "test")


def hangs(system: System, sheet: FactSheet) -> None:
    sheet.put("os.version", "24.04", "test")
    time.sleep(60)


def crashes(system: System, sheet: FactSheet) -> None:
    raise RuntimeError("boom")


def misnames(system: System, sheet: FactSheet) -> None:
    sheet.put("os.nonsense", 1, "test")


def test_a_probe_that_hangs_keeps_what_it_said(tmp_path: Path) -> None:
    all_three = [Probe("good", good), Probe("hangs", hangs, ("torch.version",)), Probe("crashes", crashes)]
    result = gather(TreeSystem(tmp_path), all_three, 1.0)
    assert (result.machine.os.id, result.machine.os.version) == ("ubuntu", "24.04")
    assert result.machine.origins["torch.version"].state is State.TIMED_OUT
    assert result.machine.origins["probes.crashes"].state is State.FAILED
    assert len(result.trouble) == 2


def test_a_fact_that_fits_nowhere_costs_only_itself(tmp_path: Path) -> None:
    result = gather(TreeSystem(tmp_path), [Probe("misnames", misnames), Probe("good", good)], 2)
    assert result.machine.os.id == "ubuntu"
    assert result.machine.origins["os.nonsense"].state is State.FAILED


def test_every_probe_and_rule_is_found() -> None:
    assert "pci" in [p.name for p in probes()]
    assert "no-gpu-found" in [c.rule.id for c in checks()]
