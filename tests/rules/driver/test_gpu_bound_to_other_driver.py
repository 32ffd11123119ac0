"""gpu-bound-to-other-driver: pass-through and radeon."""

from __future__ import annotations

from doctor.rules.driver import gpu_bound_to_other_driver as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.RX7900}]"


def test_vfio_owns_the_only_gpu() -> None:
    machine = machines.rx7900_desktop({f"{GPU}.driver": "vfio-pci"})
    expected = "vfio-pci is bound to AMD Radeon RX 7900 XTX (0000:03:00.0), so amdgpu cannot use it."
    assert told(rule, machine) == [("error", machines.RX7900, expected)]


def test_one_of_eight_is_a_warning() -> None:
    (finding,) = found(rule, machines.h100_host({f"gpus[{machines.H100[3]}].driver": "vfio-pci"}))
    assert finding.severity.value == "warning"
    assert f"unset-override {machines.H100[3]}`" in finding.remedies[0].steps[1].text
    assert argvs(finding) == [("update-initramfs", "-u"), ("systemctl", "reboot")]


def test_near_misses_and_unknown() -> None:
    for driver in ("amdgpu", "none", "simple-framebuffer", None):
        assert found(rule, machines.rx7900_desktop({f"{GPU}.driver": driver})) == []


def test_a_hypervisor_with_eight_gpus_for_its_guests_is_one_finding() -> None:
    bound = {f"gpus[{address}].driver": "vfio-pci" for address in machines.H100}
    bare = {"torch.build": None, "torch.version": None, "torch.cuda": None}
    (finding,) = found(rule, machines.h100_host(bound | bare))
    assert finding.severity.value == "info"
    assert finding.summary == "vfio-pci reserves all 8 GPUs for VMs, so nvidia cannot use them here."
    (wanted,) = found(rule, machines.h100_host(bound))
    assert wanted.severity.value == "warning"
