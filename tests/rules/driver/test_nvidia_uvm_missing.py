"""nvidia-uvm-missing: the module, or the node beside the others."""

from __future__ import annotations

from doctor.intake.read import read_text
from doctor.knowledge import Knowledge
from doctor.rules.driver import nvidia_uvm_missing as rule
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told

NO_NODE = {"nodes[/dev/nvidia-uvm]": None}


def test_a_container_that_got_the_other_nodes_only() -> None:
    (finding,) = found(rule, machines.h100_container(NO_NODE))
    assert finding.severity.value == "error"
    assert (
        finding.summary
        == "The NVIDIA driver is loaded and /dev/nvidia-uvm is missing in this container; CUDA needs it."
    )
    assert finding.subject.id == "/dev/nvidia-uvm"


def test_a_host_loads_it_on_first_use_so_it_is_a_warning_there() -> None:
    (finding,) = found(rule, machines.h100_host(NO_NODE | {"nvidia_driver.uvm_loaded": False}))
    assert finding.severity.value == "warning"
    assert finding.fixes[0].command == ("nvidia-modprobe", "-u", "-c", "0")


def test_a_host_makes_the_node_on_first_use_so_it_is_a_remark_there() -> None:
    (finding,) = found(rule, machines.h100_host(NO_NODE))
    assert finding.severity.value == "info"


def test_near_misses_and_unknown() -> None:
    assert told(rule, machines.h100_host()) == []
    assert found(rule, machines.h100_container({"nodes": []})) == []
    assert found(rule, machines.h100_host({"nvidia_driver.uvm_loaded": None, "nodes": None})) == []
    assert found(rule, machines.h100_host({"nvidia_driver.loaded": False, "nvidia_driver.uvm_loaded": False})) == []


def test_a_listing_without_it_where_nothing_says_that_the_driver_is_loaded() -> None:
    text = b"""rootless podman: nvidia-smi answers, torch.cuda.is_available() is False
crw-rw-rw- 1 nobody nogroup ? 195,   0 Apr  7 06:52 /dev/nvidia0
crw-rw-rw- 1 nobody nogroup ? 195, 255 Apr  7 06:52 /dev/nvidiactl
"""
    (finding,) = rule.check(read_text([text]), Knowledge(), None)
    assert finding.severity.value in ("error", "warning")
    assert finding.summary.startswith("NVIDIA's other nodes are there and /dev/nvidia-uvm is missing")
    with_it = text + b"crw-rw-rw- 1 nobody nogroup ? 511,   0 Apr  7 06:52 /dev/nvidia-uvm\n"
    assert not list(rule.check(read_text([with_it]), Knowledge(), None))
    only_one = b"torch sees no GPU\ncrw-rw---- 1 root video 195, 255 Apr  7 06:52 /dev/nvidiactl\n"
    assert not list(rule.check(read_text([only_one]), Knowledge(), None))


def test_wsl_has_no_such_module() -> None:
    text = "GPU 0: NVIDIA RTX A4000\ncuMemSetAccess returns CUDA_ERROR_UNKNOWN (999)\nKernel: 6.6.87\n"
    assert rule.RULE.id in raised(text)
    assert rule.RULE.id not in raised(f"WSL2\n{text}")
