"""torch-sees-no-gpu: is_available() said False."""

from __future__ import annotations

from doctor.rules.consequences import torch_sees_no_gpu as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_false_on_a_machine_with_gpus() -> None:
    (finding,) = found(rule, machines.h100_host({"torch.available": False}))
    assert finding.summary == "torch.cuda.is_available() is False on a machine with a GPU."
    assert finding.subject.id == "torch"
    assert finding.remedies[0].steps[0].command == ("doctor", "check")


def test_without_a_gpu_and_unknown() -> None:
    assert told(rule, machines.no_gpu_host({"torch.available": False})) == []
    assert told(rule, machines.h100_host()) == []
