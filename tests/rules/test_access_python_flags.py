"""Access, Python, flag, tool and profile rules: each fires, stays quiet on a near miss, and on the unknown."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import Snapshot
from doctor.findings import Finding
from doctor.knowledge import Knowledge
from tests.rules.machines import (
    MI300X,
    RX7900,
    h100_container,
    h100_host,
    mi300x_container,
    mi300x_host,
    no_gpu_host,
    rx7900_desktop,
)

AREAS = ("access", "python", "flags", "consequences", "tools", "profile")
RULES = Path(__file__).parents[2] / "doctor" / "rules"
MODULES = [f"{a}.{p.stem}" for a in AREAS for p in sorted((RULES / a).glob("*.py")) if p.stem != "__init__"]
HEADINGS = ["What it finds", "Why it matters", "Not raised when", "How to confirm", "Fix", "Fix safety", "References"]


def found(module: str, machine: Snapshot) -> list[Finding]:
    rule: Any = importlib.import_module(f"doctor.rules.{module}")
    needs = rule.RULE.needs
    if not any(all(machine.knows(n) for n in alternative) for alternative in needs):
        return []
    return list(rule.check(machine, Knowledge(), None))


@pytest.mark.parametrize("module", MODULES)
def test_has_its_id_and_all_headings(module: str) -> None:
    rule = importlib.import_module(f"doctor.rules.{module}").RULE
    assert rule.id.replace("-", "_") == module.split(".")[1]
    assert [line[3:] for line in rule.doc.splitlines() if line.startswith("## ")] == HEADINGS


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("machine", [h100_host, h100_container, mi300x_host, mi300x_container, rx7900_desktop])
def test_quiet_on_healthy_machines(module: str, machine: Any) -> None:
    assert found(module, machine()) == []


@pytest.mark.parametrize("module", MODULES)
def test_quiet_on_the_unknown(module: str) -> None:
    assert found(module, Snapshot()) == []


def test_kfd_that_another_group_owns() -> None:
    (finding,) = found(
        "access.device_node_permission",
        rx7900_desktop({"account.gids": [1000], "account.member_of": [], "account.user": "me",
                        "nodes[/dev/kfd].openable": False, "nodes[/dev/kfd].open_error": "EACCES"}),
    )  # fmt: skip
    assert finding.summary == "This account may not open /dev/kfd: group render (gid 109) owns it."
    assert finding.fixes[0].command == ("usermod", "-aG", "render", "me")


def test_group_number_of_the_host_in_a_container() -> None:
    edits = {"account.gids": [1000], "nodes[/dev/kfd].openable": False, "nodes[/dev/kfd].open_error": "EACCES"}
    (finding,) = found("access.container_render_group_mismatch", mi300x_container(edits))
    assert finding.summary == "gid 109 owns /dev/kfd; this container's account is not in it."
    assert (finding.fixes[0].command or ())[-3:] == ("--group-add", "109", "IMAGE")


def test_container_without_nodes() -> None:
    (nvidia,) = found("access.container_missing_gpu_passthrough", h100_container({"nodes": []}))
    assert nvidia.fixes[0].command == ("docker", "run", "--gpus", "all", "IMAGE")
    (amd,) = found("access.container_missing_gpu_passthrough", mi300x_container({"nodes": []}))
    assert amd.summary == "The kernel drives AMD GPUs and this container lacks /dev/kfd and /dev/dri."


def test_cpu_build_beside_a_gpu() -> None:
    (finding,) = found("python.torch_cpu_only_build", h100_host({"torch.build": "cpu", "torch.version": "2.7.0+cpu"}))
    assert finding.summary == "torch 2.7.0+cpu is a CPU-only build on a machine with an NVIDIA GPU."
    assert "https://download.pytorch.org/whl/cu128" in (finding.fixes[0].command or ())
    assert not found("python.torch_cpu_only_build", no_gpu_host({"torch.build": "cpu"}))


def test_cuda_build_on_amd() -> None:
    (finding,) = found("python.torch_built_for_other_vendor", mi300x_host({"torch.build": "cuda"}))
    assert finding.summary.endswith("is a CUDA build; this machine has AMD GPUs only.")


def test_arch_that_torch_lacks() -> None:
    module = "python.torch_missing_gpu_arch"
    assert found(module, h100_host({"torch.arch_list": ["sm_75", "sm_80", "sm_86"]}))[0].summary.startswith(
        "torch 2.7.0"
    )
    assert not found(module, h100_host({"torch.arch_list": ["sm_80", "compute_80"]}))
    assert found(module, rx7900_desktop({"torch.build": "rocm", "torch.arch_list": ["gfx942"]}))


def test_companion_of_another_torch() -> None:
    packages = [{"name": "torchvision", "version": "0.21.0+cu126"}]
    edits = {"torch.version": "2.7.0+cu128", "packages": packages}
    (finding,) = found("python.torch_companion_mismatch", h100_host(edits))
    assert finding.summary == "torchvision 0.21.0+cu126 is not made for torch 2.7.0, which goes with 0.22.0."
    packages[0]["version"] = "0.22.0+cu128"
    assert not found("python.torch_companion_mismatch", h100_host(edits))


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "2,3"}, 1),
        ({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0,1"}, 0),
        ({"HIP_VISIBLE_DEVICES": "7"}, 0),
        ({"HIP_VISIBLE_DEVICES": "8"}, 1),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "9"}, 2),
        ({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "4,5"}, 1),
    ],
)
def test_visibility_lists(environment: dict[str, str], count: int) -> None:
    assert len(found("flags.visible_devices_conflict", mi300x_host({"environment": environment}))) == count


@pytest.mark.parametrize(
    ("arch", "value", "severity"),
    [
        ("gfx1100", "10.3.0", "error"),
        ("gfx1031", "10.3.0", "info"),
        ("gfx1100", "11.0.0", "warning"),
        ("gfx1100", "", "error"),
    ],
)
def test_gfx_override(arch: str, value: str, severity: str) -> None:
    edits = {"environment": {"HSA_OVERRIDE_GFX_VERSION": value}, f"gpus[{RX7900}].arch": arch}
    assert [f.severity for f in found("flags.hsa_override_misuse", rx7900_desktop(edits))] == [severity]


def test_debug_flag() -> None:
    flags = {"CUDA_LAUNCH_BLOCKING": "1", "AMD_LOG_LEVEL": "0"}
    assert len(found("flags.debug_flag_left_on", h100_host({"environment": flags}))) == 1


def test_slow_tool_no_gpu_and_unknown_gpu() -> None:
    assert found("tools.smi_tool_slow", h100_host({"nvidia_driver.smi_seconds": 12.0}))
    assert not found("tools.smi_tool_slow", h100_host({"nvidia_driver.smi_seconds": 1.0}))
    assert found("profile.no_gpu_found", no_gpu_host())[0].severity == "info"
    assert found("profile.gpu_not_in_knowledge", mi300x_host({f"gpus[{MI300X[0]}].pci_id": "1002:ffff"}))
    assert found("consequences.torch_sees_no_gpu", h100_host({"torch.available": False}))
