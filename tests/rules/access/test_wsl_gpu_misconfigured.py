"""wsl-gpu-misconfigured: WSL without /dev/dxg."""

from __future__ import annotations

from doctor.rules.access import wsl_gpu_misconfigured as rule
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told

NAMED = "$ rocminfo\nWSL environment detected.\n*******\nAgent 2\n*******\n  Name: gfx1100\n  Device Type: GPU\n"
LISTED = NAMED.replace("gfx1100\n", "gfx1100\n  Uuid:                    GPU-5fe1f4dc8a3c2b11\n")

DXG = {"nodes[/dev/dxg].kind": "dxg", "nodes[/dev/dxg].is_device": True}


def test_no_dxg() -> None:
    (finding,) = found(rule, machines.no_gpu_host({"host.wsl": True}))
    assert finding.summary == "WSL cannot reach the GPU: /dev/dxg is missing."
    assert finding.subject.id == "/dev/dxg"
    assert ("wsl.exe", "--update") in [step.command for step in finding.remedies[0].steps]


def test_dxg_is_there_or_it_is_a_container_or_no_wsl() -> None:
    assert told(rule, machines.no_gpu_host({"host.wsl": True} | DXG)) == []
    assert told(rule, machines.no_gpu_host({"host.wsl": True, "container.inside": True})) == []
    assert told(rule, machines.no_gpu_host()) == []


def test_nodes_that_are_unknown() -> None:
    assert told(rule, machines.no_gpu_host({"host.wsl": True, "nodes": None})) == []
    assert told(rule, machines.no_gpu_host({"host.wsl": None})) == []


def test_a_runtime_that_fails_outweighs_a_list_of_another_day() -> None:
    assert raised(LISTED + "hsa_init Failed, possibly no supported GPU devices\n") == [rule.RULE.id]
    assert raised(LISTED) == []


RUN = "docker run -it {}rocm/pytorch:latest python3 -c 'import torch'\ntorch.cuda.is_available(): False\n"
