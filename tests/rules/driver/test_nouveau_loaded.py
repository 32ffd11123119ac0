"""nouveau-loaded: it owns the GPU."""

from __future__ import annotations

from doctor.findings import Severity
from doctor.rules.driver import nouveau_loaded as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.RTX4090}]"


def test_nouveau_owns_the_gpu() -> None:
    machine = machines.rtx4090_desktop({f"{GPU}.driver": "nouveau", "nvidia_driver.loaded": False})
    (finding,) = found(rule, machine)
    assert (
        finding.summary == "nouveau is bound to NVIDIA GeForce RTX 4090 (0000:01:00.0), but CUDA needs NVIDIA's driver."
    )
    assert argvs(finding)[1:] == [("dracut", "--force"), ("systemctl", "reboot")]  # the driver is installed
    without = {f"{GPU}.driver": "nouveau", "nvidia_driver.loaded": False, "nvidia_driver.module_on_disk": None}
    (finding,) = found(rule, machines.rtx4090_desktop(without))
    assert ("dnf", "install", "--assumeyes", "--allowerasing", "nvidia-open") in argvs(finding)


def test_no_package_is_named_for_a_gpu_that_the_catalogue_lacks() -> None:
    """A Kepler card takes neither the open modules nor branch 580."""
    unknown = {f"{GPU}.driver": "nouveau", f"{GPU}.pci_id": "10de:0fc6", f"{GPU}.arch": None, f"{GPU}.name": None}
    (finding,) = found(rule, machines.rtx4090_desktop(unknown))
    assert ("apt-get" in str(argvs(finding))) is False
    assert "driver branch that supports this GPU" in finding.remedies[0].title


def test_near_misses_and_unknown() -> None:
    assert told(rule, machines.rtx4090_desktop({"kernel.modules": ["nouveau", "nvidia"]})) == []
    assert found(rule, machines.rtx4090_desktop({f"{GPU}.driver": None})) == []


def test_nouveau_is_loaded_and_the_driver_of_the_gpu_is_not_known() -> None:
    unbound = {f"{GPU}.driver": None, "kernel.modules": ["nouveau"]}
    (finding,) = found(rule, machines.rtx4090_desktop({**unbound, "nvidia_driver.loaded": None}))
    assert finding.severity is Severity.WARNING
    assert found(rule, machines.rtx4090_desktop({**unbound, "nvidia_driver.loaded": True})) == []
