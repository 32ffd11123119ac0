"""wsl-gpu-misconfigured: WSL without /dev/dxg."""

from __future__ import annotations

from doctor.rules.access import wsl_gpu_misconfigured as rule
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told

DXG = {"nodes[/dev/dxg].kind": "dxg", "nodes[/dev/dxg].is_device": True}


def test_no_dxg() -> None:
    (finding,) = found(rule, machines.no_gpu_host({"host.wsl": True}))
    assert finding.summary == "WSL has no /dev/dxg, so nothing in it can reach the GPU."
    assert finding.subject.id == "/dev/dxg"
    assert finding.fixes[0].command == ("wsl.exe", "--update")


def test_dxg_is_there_or_it_is_a_container_or_no_wsl() -> None:
    assert told(rule, machines.no_gpu_host({"host.wsl": True} | DXG)) == []
    assert told(rule, machines.no_gpu_host({"host.wsl": True, "container.inside": True})) == []
    assert told(rule, machines.no_gpu_host()) == []


def test_nodes_that_are_unknown() -> None:
    assert told(rule, machines.no_gpu_host({"host.wsl": True, "nodes": None})) == []
    assert told(rule, machines.no_gpu_host({"host.wsl": None})) == []


def test_a_remark_of_ldconfig_where_torch_has_its_gpu() -> None:
    remark = "Linux 5.15.1-microsoft-standard-WSL2\nldconfig: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link\n"
    assert "wsl-gpu-misconfigured" not in raised(f"{remark}torch.cuda.is_available(): True")
    assert "wsl-gpu-misconfigured" in raised(f"{remark}torch.cuda.is_available(): False")
