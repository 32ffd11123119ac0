"""A module that can't be built for, or is refused by, the running kernel."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from doctor.facts import Snapshot
from doctor.rules.driver import amdgpu_kernel_or_os_unsupported, nvidia_kernel_incompatible
from tests.rules import machines
from tests.rules.driver.asked import found

BOTH = [
    (nvidia_kernel_incompatible, machines.h100_host, "nvidia", "nvidia_driver.loaded", "nvidia/575.57.08"),
    (amdgpu_kernel_or_os_unsupported, machines.mi300x_host, "amdgpu", "amdgpu_driver.loaded", "amdgpu/6.10.5"),
]


def failing(key: str, kernel: str) -> dict[str, Any]:
    return {f"kernel.dkms[{key}].built_for": ["6.5.0-1-generic"], f"kernel.dkms[{key}].failed_for": kernel}


def errors(rule: ModuleType, machine: Snapshot) -> list[str]:
    return [f.summary for f in found(rule, machine) if f.severity.value == "error"]


@pytest.mark.parametrize(("rule", "host", "module", "loaded", "key"), BOTH)
def test_a_failed_build_for_the_running_kernel(rule: ModuleType, host: Any, module: str, loaded: str, key: str) -> None:
    running = host().kernel.release
    down = {loaded: False} | failing(key, running)
    (summary,) = errors(rule, host(down))
    assert summary == f"DKMS could not build {key} for the running kernel {running}."
    assert errors(rule, host(failing(key, running))) == []  # loaded all the same
    assert errors(rule, host({loaded: False} | failing(key, "6.99.0-1-generic"))) == []
    assert errors(rule, host({loaded: False, "kernel.dkms": None})) == []
    assert errors(rule, host(down | {"container.inside": True})) == []


@pytest.mark.parametrize(("rule", "host", "module", "loaded", "key"), BOTH)
def test_a_module_that_the_kernel_refused(rule: ModuleType, host: Any, module: str, loaded: str, key: str) -> None:
    magic = machines.event("module-version-magic", None, f"{module}: version magic '6.5.0' should be '6.8.0'")
    other = machines.event("module-version-magic", None, "vboxdrv: version magic '6.5.0' should be '6.8.0'")
    (summary,) = errors(rule, host({loaded: False} | magic))
    assert summary == f"The running kernel rejects the {module} module: it was built for another kernel."
    assert errors(rule, host({loaded: False} | other)) == []
    assert errors(rule, host(magic)) == []


def test_the_other_vendor_s_module_is_none_of_this_machine_s_business() -> None:
    down = {"amdgpu_driver.loaded": False} | failing("amdgpu/6.10.5", machines.h100_host().kernel.release or "")
    assert errors(amdgpu_kernel_or_os_unsupported, machines.h100_host(down)) == []
