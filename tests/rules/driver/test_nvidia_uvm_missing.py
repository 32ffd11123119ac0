"""nvidia-uvm-missing: the module, or the node beside the others."""

from __future__ import annotations

from doctor.rules.driver import nvidia_uvm_missing as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

NO_NODE = {"nodes[/dev/nvidia-uvm]": None}


def test_a_container_that_got_the_other_nodes_only() -> None:
    (finding,) = found(rule, machines.h100_container(NO_NODE))
    assert finding.severity.value == "error"
    assert (
        finding.summary
        == "/dev/nvidia-uvm is missing in this container, but CUDA needs it. The NVIDIA driver is loaded."
    )
    assert finding.subject.id == "/dev/nvidia-uvm"


def test_a_host_loads_it_on_first_use_so_it_is_a_warning_there() -> None:
    (finding,) = found(rule, machines.h100_host(NO_NODE | {"nvidia_driver.uvm_loaded": False}))
    assert finding.severity.value == "warning"
    assert argvs(finding)[0] == ("nvidia-modprobe", "-u", "-c", "0")


def test_a_host_makes_the_node_on_first_use_so_it_is_a_remark_there() -> None:
    (finding,) = found(rule, machines.h100_host(NO_NODE))
    assert finding.severity.value == "info"


def test_near_misses_and_unknown() -> None:
    assert told(rule, machines.h100_host()) == []
    assert found(rule, machines.h100_container({"nodes": []})) == []
    assert found(rule, machines.h100_host({"nvidia_driver.uvm_loaded": None, "nodes": None})) == []
    assert found(rule, machines.h100_host({"nvidia_driver.loaded": False, "nvidia_driver.uvm_loaded": False})) == []
