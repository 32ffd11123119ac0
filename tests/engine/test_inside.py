"""A container seen from its host: what the host has never stands for what is inside."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.engine import inside, target
from doctor.engine.run import Options, examine
from doctor.facts.origin import State
from doctor.findings import Report
from doctor.system.base import Reading, Stat
from doctor.system.tree import TreeSystem
from tests.fakenode import Machine, Node, stand_in
from tests.fakenode import faults_amd as amd
from tests.fakenode import faults_host as host
from tests.fakenode import faults_nvidia as nvidia

pytestmark = pytest.mark.fakenode
H100 = Node("h100", 2)
MI300X = Node("mi300x", 2, rocm=("6.4.1",))


class Inside(TreeSystem):
    """The container's files, with the nodes that were passed and the variables that its process has."""

    def __init__(self, root: Path, machine: Machine) -> None:
        super().__init__(root)
        self.machine = machine

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.VALUE, "environ", dict(self.machine.environment))

    def stat(self, path: str) -> Reading[Stat]:
        node = self.machine.nodes.get(path.removeprefix("dev/"))
        if node is None:
            return super().stat(path)
        return Reading(State.VALUE, f"file:/{path}", Stat("char", node.mode, node.uid, node.gid, 0, 195, 0))

    def try_open(self, path: str) -> Reading[str]:
        return Reading(State.VALUE, f"file:/{path}", "ok")


def with_shell(machine: Machine) -> None:
    """The program from which the loader's search starts."""
    machine.files["bin/sh"] = stand_in.empty_library("sh")


def older_libraries(machine: Machine) -> None:
    """Of an image that brings its own."""
    assert machine.nvml
    machine.nvml.version = "570.124.06"


def seen(on: Node, within: Node) -> Report:
    with on.laid_out() as outer, within.laid_out() as inner:
        probes = inside.probes(Inside(inner.root, inner.machine), 1)
        return examine(TreeSystem(outer.root), Options(probes=probes))


@pytest.mark.parametrize(
    ("on", "within"),
    [
        (H100, Node("h100", 2, container="docker", faults=(with_shell,))),
        (MI300X, Node("mi300x", 2, rocm=("6.4.1",), container="docker", faults=(with_shell,))),
    ],
)
def test_a_healthy_container_of_a_healthy_host(on: Node, within: Node) -> None:
    report = seen(on, within)
    assert [f.summary for f in report.findings if f.severity != "info"] == []
    assert "container-missing-gpu-passthrough" in report.clear


@pytest.mark.parametrize(
    ("fault", "rule", "said"),
    [
        (older_libraries, "nvidia-driver-library-mismatch", "580.95.05 is loaded, but the driver libraries are 570"),
        (nvidia.no_libraries, "container-missing-gpu-passthrough", "but not the driver's library libcuda.so.1"),
        (nvidia.no_control_node, "container-missing-gpu-passthrough", "but not /dev/nvidiactl"),
        (nvidia.no_nodes, "container-missing-gpu-passthrough", "no /dev/nvidia* nodes"),
    ],
)
def test_what_a_container_lacks_of_nvidia_and_its_host_has(fault: object, rule: str, said: str) -> None:
    first = seen(H100, Node("h100", 2, container="docker", faults=(with_shell, fault))).findings[0]  # type: ignore[arg-type]
    assert (first.rule, first.severity.value) == (rule, "error")
    assert said in first.summary


def test_a_host_s_compiler_is_not_the_container_s() -> None:
    def with_gcc(machine: Machine) -> None:
        machine.files["usr/lib/gcc/x86_64-linux-gnu/12/crtbegin.o"] = ""

    report = seen(Node("h100", 2, faults=(with_gcc,)), Node("h100", 2, container="docker", faults=(with_shell,)))
    assert report.snapshot.host.gcc_runtimes in (None, ())
    assert report.snapshot.host.glibc is None


def test_a_container_s_gpus_are_those_whose_nodes_it_has() -> None:
    faults = (with_shell, amd.one_render_node, host.environment(HIP_VISIBLE_DEVICES="1"))
    first = seen(MI300X, Node("mi300x", 2, rocm=("6.4.1",), container="docker", faults=faults)).findings[0]
    assert (first.rule, first.severity.value) == ("visible-devices-conflict", "error")


def test_an_interpreter_that_is_named_is_looked_for_inside() -> None:
    """Every probe of it is started with its own arguments, and no fact ends as a failed probe."""
    with H100.laid_out() as outer:
        host_system = TreeSystem(outer.root)
        options = target.of_process(host_system, Options(python=sys.executable), os.getpid(), None)
        report = examine(host_system, options)
    assert report.snapshot.interpreter.chosen_by == "--python"
