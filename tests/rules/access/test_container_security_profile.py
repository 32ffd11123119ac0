"""The default seccomp profile closes the memory policy calls unless the container has SYS_NICE."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.sheet import FactSheet, assemble
from doctor.knowledge import Knowledge
from doctor.rules.access import container_security_profile as rule


def summaries(seccomp: str | None, capabilities: Sequence[str], nodes: Sequence[int] = (0, 1)) -> list[str]:
    sheet = FactSheet()
    sheet.put("container.inside", True, "file:/.dockerenv")
    sheet.put("container.engine", "docker", "file:/.dockerenv")
    if seccomp:
        sheet.put("container.seccomp", seccomp, "file:/proc/self/status")
    sheet.put("container.capabilities", list(capabilities), "file:/proc/self/status")
    for number, node in enumerate(nodes):
        sheet.put(f"gpus[0000:{number + 1:02x}:00.0].numa_node", node, "file:/sys")
    return [f.summary for f in rule.check(assemble([sheet]), Knowledge(), None)]


def test_closed_on_a_machine_of_several_numa_nodes() -> None:
    assert summaries("filter", []) == ["The container's seccomp profile blocks NUMA binding (numactl, set_mempolicy)."]


def test_open_by_capability_without_filter_or_with_one_node_only() -> None:
    assert summaries("filter", ["SYS_NICE"]) == []
    assert summaries("off", []) == []
    assert summaries("filter", [], nodes=(0, 0)) == []


def test_an_unknown_filter_is_no_filter() -> None:
    assert summaries(None, []) == []


def test_what_was_tried_or_read_comes_before_what_the_engine_s_own_profile_does() -> None:
    def told(mempolicy: str, seccomp: str = "filter", capabilities: Sequence[str] = ()) -> list[str]:
        sheet = FactSheet()
        sheet.put("container.inside", True, "file:/.dockerenv")
        sheet.put("container.engine", "podman", "file:/run/.containerenv")
        sheet.put("container.seccomp", seccomp, "file:/proc/self/status")
        sheet.put("container.capabilities", list(capabilities), "file:/proc/self/status")
        sheet.put("container.mempolicy", mempolicy, "file:/proc/self/status")
        for number in (0, 1):
            sheet.put(f"gpus[0000:{number + 1:02x}:00.0].numa_node", number, "file:/sys")
        return [
            " ".join(f.remedies[0].steps[-1].command or ()) for f in rule.check(assemble([sheet]), Knowledge(), None)
        ]

    assert told("allowed") == []
    assert told("refused") == ["podman run --cap-add SYS_NICE IMAGE"]
    assert told("refused", capabilities=["SYS_NICE"]) == ["podman run --security-opt seccomp=PROFILE IMAGE"]
