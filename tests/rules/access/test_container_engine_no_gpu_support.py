"""Docker Desktop gets the native engine beside it; nothing deletes images."""

from __future__ import annotations

from doctor.rules.access import container_engine_no_gpu_support as rule
from tests.rules import machines
from tests.rules.driver.asked import found
from tests.rules.remedies import argvs


def test_docker_desktop_is_no_snap() -> None:
    machine = machines.no_gpu_host({"container.engine_text": "docker desktop", "gpus": None})
    assert argvs(found(rule, machine)[0]) == [("docker", "context", "use", "default")]


def test_a_snap_is_disabled_and_not_removed() -> None:
    machine = machines.no_gpu_host({"container.engine_text": "docker snap", "gpus": None})
    (finding,) = found(rule, machine)
    assert finding.summary == "Docker snap cannot use the host's GPUs."
    assert ("snap", "disable", "docker") in argvs(finding)
    assert finding.remedies[0].undo[0].command == ("snap", "enable", "docker")
