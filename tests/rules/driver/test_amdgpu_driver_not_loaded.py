"""amdgpu-driver-not-loaded: module, KFD, host against container."""

from __future__ import annotations

from doctor.rules.driver import amdgpu_driver_not_loaded as rule
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told

GPU = f"gpus[{machines.RX7900}]"
UNLOADED = {"amdgpu_driver.loaded": False, "kfd.present": False, "kfd.nodes": None}
UNBOUND = UNLOADED | {f"{GPU}.driver": "none"}


def test_a_host_loads_the_module() -> None:
    (finding,) = found(rule, machines.rx7900_desktop(UNBOUND))
    assert finding.summary == "amdgpu is not loaded for 1 AMD GPU."
    assert (finding.subject.kind, finding.subject.id) == ("driver", "amdgpu")
    assert finding.fixes[0].command == ("modprobe", "amdgpu")


def test_inside_a_container_the_host_is_at_fault() -> None:
    (finding,) = found(rule, machines.rx7900_container(UNBOUND))
    assert finding.summary == "amdgpu is not loaded on the host of this container (1 AMD GPU on its bus)."


def test_a_tool_that_misses_the_module_where_the_runtime_lists_the_gpu() -> None:
    agent = "$ rocminfo\n*******\nAgent 2\n*******\n  Name: gfx1100\n  Vendor Name: AMD\n  Device Type: GPU\n"
    for says in (
        "ERROR:root:Driver not initialized (amdgpu not found in modules)",
        "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status (sudo modprobe amdgpu)",
    ):
        missed = f"{says}\n{agent}"
        assert raised(missed)[:1] == [rule.RULE.id]
        for line in ("rocminfo lists the GPU", "rocminfo still shows both cards", "rocminfo sees gfx1100"):
            assert raised(f"{missed}{line}\n") == [], line
        for line in ("rocminfo lists only the CPU", "rocminfo shows no GPU", "rocminfo with sudo lists the GPU"):
            assert raised(f"{missed}{line}\n") != [], line


def test_one_gpu_left_out() -> None:
    first = machines.MI300X[0]
    ((severity, subject, _),) = told(rule, machines.mi300x_host({f"gpus[{first}].driver": "none"}))
    assert (severity, subject) == ("warning", first)


def test_a_kernel_without_kfd() -> None:
    (finding,) = found(rule, machines.rx7900_desktop({"kfd.present": False, "kfd.nodes": None}))
    assert finding.subject.id == "kfd"


def test_near_misses() -> None:
    blacklisted = {"kernel.cmdline": "modprobe.blacklist=amdgpu"}
    cases: tuple[machines.Facts, ...] = (
        {},
        blacklisted,
        UNLOADED | {"rocm": [], "torch": None},  # built in: the bus says that amdgpu owns it
        UNBOUND | {f"{GPU}.driver": "radeon"},
        UNBOUND | {"host.wsl": True},
    )
    for edits in cases:
        assert found(rule, machines.rx7900_desktop(edits)) == []
    assert found(rule, machines.h100_host()) == []


def test_unknown() -> None:
    assert found(rule, machines.rx7900_desktop(UNBOUND | {"gpus": None, "pci": None})) == []
