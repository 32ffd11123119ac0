"""What could not be told is named; what there is nothing to tell of is not."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.engine.missing_facts import does_not_apply
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet, assemble
from doctor.facts.snapshot import Snapshot
from doctor.findings import Rule, Severity
from doctor.knowledge import Knowledge


def rule(*needs: set[str]) -> Rule:
    return Rule(id="a-rule", severity=Severity.ERROR, title="A.", needs=needs, doc="", proven="synthetic")


def machine(**facts: object) -> Snapshot:
    sheet = FactSheet()
    for name, value in facts.items():
        sheet.put(name.replace("__", "."), value, "example")
    return assemble([sheet])


def test_facts_of_torch_where_none_is_installed() -> None:
    assert does_not_apply(rule({"torch.version", "packages"}), machine(torch__installed=False))
    assert not does_not_apply(rule({"torch.version"}), machine())
    assert not does_not_apply(rule({"torch.version"}, {"packages"}), machine(torch__installed=False))


def test_facts_of_a_container_on_a_host_and_of_gpus_without_one() -> None:
    assert does_not_apply(rule({"container.seccomp"}), machine(container__inside=False))
    assert not does_not_apply(rule({"container.seccomp"}), machine(container__inside=True))
    assert does_not_apply(rule({"gpus[].link.width"}), machine(gpus=[]))
    assert not does_not_apply(rule({"gpus"}), machine(gpus=[]))


def test_what_a_probe_could_not_read_is_still_named() -> None:
    sheet = FactSheet()
    sheet.put("container.inside", False, "file:/proc/1/cgroup")
    sheet.put("torch.installed", False, "file:/venv")
    sheet.miss("kernel_log.events", State.DENIED, "command:dmesg")
    report = judge(assemble([sheet]), Knowledge(), None)
    assert "nvidia-xid-fatal" in [u.rule for u in report.unchecked]
    assert not [u for u in report.unchecked if u.rule in ("torch-sees-no-gpu", "container-toolkit-too-old")]
