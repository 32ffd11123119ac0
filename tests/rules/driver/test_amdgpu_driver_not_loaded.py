"""amdgpu-driver-not-loaded: module, KFD, host against container."""

from __future__ import annotations

from doctor.rules.driver import amdgpu_driver_not_loaded as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.RX7900}]"
UNLOADED = {"amdgpu_driver.loaded": False, "kfd.present": False, "kfd.nodes": None}
UNBOUND = UNLOADED | {f"{GPU}.driver": "none"}


def test_a_host_loads_the_module() -> None:
    (finding,) = found(rule, machines.rx7900_desktop(UNBOUND))
    assert finding.summary == "amdgpu is not loaded for 1 AMD GPU."
    assert (finding.subject.kind, finding.subject.id) == ("driver", "amdgpu")
    assert argvs(finding)[0] == ("modprobe", "amdgpu")


def test_inside_a_container_the_host_is_at_fault() -> None:
    (finding,) = found(rule, machines.rx7900_container(UNBOUND))
    assert finding.summary == "amdgpu is not loaded on the host of this container (1 AMD GPU on its bus)."


def test_one_gpu_left_out() -> None:
    first = machines.MI300X[0]
    ((severity, subject, _),) = told(rule, machines.mi300x_host({f"gpus[{first}].driver": "none"}))
    assert (severity, subject) == ("warning", first)


def test_a_kernel_without_kfd() -> None:
    (finding,) = found(rule, machines.rx7900_desktop({"kfd.present": False, "kfd.nodes": None}))
    assert finding.subject.id == "kfd"


def test_a_word_of_the_command_line_keeps_it_out() -> None:
    for word, tool in (
        ("modprobe.blacklist=nouveau,amdgpu", True),
        ("nomodeset", True),
        ("module_blacklist=nouveau", False),
    ):
        (finding,) = found(rule, machines.rx7900_desktop(UNBOUND | {"kernel.cmdline": f"ro {word} quiet"}))
        assert (finding.remedies[0].title == f"Remove {word} from the kernel command line.") is tool
        assert any(row.text.startswith("kernel command line") for row in finding.evidence) is tool


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
