"""container-missing-gpu-passthrough: no node was passed."""

from __future__ import annotations

from doctor.rules.access import container_missing_gpu_passthrough as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_no_nvidia_node() -> None:
    (finding,) = found(rule, machines.h100_container({"nodes": []}))
    assert finding.summary == "The kernel drives NVIDIA GPUs and this container has none of their nodes (/dev/nvidia*)."
    assert finding.subject.id == "nvidia"
    assert finding.fixes[0].command == ("docker", "run", "--gpus", "all", "IMAGE")


def test_no_amd_node() -> None:
    (finding,) = found(rule, machines.mi300x_container({"nodes": []}))
    assert finding.summary == "The kernel drives AMD GPUs and this container lacks /dev/kfd and /dev/dri."
    assert finding.fixes[0].command == ("stat", "-c", "%g", "/dev/kfd")


def test_kfd_alone_is_missing() -> None:
    (finding,) = found(rule, machines.mi300x_container({"nodes[/dev/kfd]": None}))
    assert finding.summary == "The kernel drives AMD GPUs and this container lacks /dev/kfd."
    assert (finding.fixes[0].command or ())[-3:] == ("--group-add", "109", "IMAGE")


def test_on_a_host_or_without_a_driver() -> None:
    assert told(rule, machines.h100_host({"nodes": []})) == []
    assert told(rule, machines.no_gpu_host({"container.inside": True})) == []


def test_nodes_that_are_unknown() -> None:
    assert told(rule, machines.mi300x_container({"nodes": None})) == []
