"""A rule is clear only if its check looked at nothing that is unknown."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.facts import Snapshot
from doctor.facts.watched import watched
from doctor.findings import Report
from doctor.knowledge import Knowledge
from tests.rules import machines


def told(machine: Snapshot, rule: str) -> Report:
    return judge(machine, Knowledge(), only=[rule])


def test_nvswitches_without_a_fabric_managers_state_are_not_clear() -> None:
    rule, unknown = "nvidia-fabricmanager-not-running", {f"gpus[{a}].fabric_state": None for a in machines.H100}
    assert told(machines.h100_host(), rule).clear == (rule,)
    poorer = told(machines.h100_host({**unknown, "nvidia_driver.fabric_manager.running": None}), rule)
    assert poorer.clear == ()
    assert "nvidia_driver.fabric_manager.running" in poorer.unchecked[0].facts


def test_an_unknown_fact_that_the_check_never_reaches_costs_nothing() -> None:
    rule = "persistence-mode-off"
    assert told(machines.h100_host({"os.id": None}), rule) == told(machines.h100_host(), rule).model_copy(
        update={"snapshot": machines.h100_host({"os.id": None})}
    )


def test_a_gpu_of_an_unknown_vendor_may_be_of_any() -> None:
    machine = machines.h100_host({f"gpus[{a}].vendor": None for a in machines.H100})
    assert told(machine, "nvidia-open-module-required").not_applicable == ()


def test_what_was_looked_at_is_named_as_the_origins_name_it() -> None:
    seen: dict[str, None] = {}
    here = watched(machines.rtx4090_desktop({f"gpus[{machines.RTX4090}].uuid": None}), seen)
    assert [gpu.uuid for gpu in here.gpus or ()] == [None]
    assert here.gpus is not None
    assert here.gpus[0].arch == "sm_89"
    assert list(seen) == [f"gpus[{machines.RTX4090}].uuid"]


def test_what_can_not_be_there_is_not_unknown() -> None:
    seen: dict[str, None] = {}
    here = watched(machines.mi300x_host({"nvidia_driver.loaded": False, "kfd.nodes[0].simd_count": 0}), seen)
    assert here.gpus is not None
    assert here.kfd.nodes is not None
    assert (here.gpus[0].mig_mode, here.nvidia_driver.version, here.container.engine, here.kfd.nodes[0].gfx) == (
        None,
    ) * 4
    assert list(seen) == []
