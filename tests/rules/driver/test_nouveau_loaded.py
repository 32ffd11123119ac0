"""nouveau-loaded: it owns the GPU."""

from __future__ import annotations

from doctor.rules.driver import nouveau_loaded as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

GPU = f"gpus[{machines.RTX4090}]"


def test_nouveau_owns_the_gpu() -> None:
    machine = machines.rtx4090_desktop({f"{GPU}.driver": "nouveau", "nvidia_driver.loaded": False})
    (finding,) = found(rule, machine)
    assert finding.summary == "nouveau owns NVIDIA GeForce RTX 4090 (0000:01:00.0); CUDA needs NVIDIA's driver."
    assert finding.fixes[0].command == ("dnf", "install", "--assumeyes", "nvidia-open")


def test_near_misses_and_unknown() -> None:
    assert told(rule, machines.rtx4090_desktop({"kernel.modules": ["nouveau", "nvidia"]})) == []
    assert found(rule, machines.rtx4090_desktop({f"{GPU}.driver": None})) == []
