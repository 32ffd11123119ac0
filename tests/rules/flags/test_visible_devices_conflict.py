"""visible-devices-conflict: lists that hide GPUs."""

from __future__ import annotations

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.flags import visible_devices_conflict as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told


@pytest.mark.parametrize(
    ("environment", "summaries"),
    [
        (
            {"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "2,3"},
            ["HIP_VISIBLE_DEVICES=0,1 and CUDA_VISIBLE_DEVICES=2,3 differ, so HIP and launchers use different GPUs."],
        ),
        ({"HIP_VISIBLE_DEVICES": "8"}, ["HIP_VISIBLE_DEVICES='8' points to GPU 8, but there are only GPUs 0 to 7."]),
        ({"HIP_VISIBLE_DEVICES": ""}, ["HIP_VISIBLE_DEVICES='' hides every GPU."]),
        (
            {"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "4,5"},
            ["HIP_VISIBLE_DEVICES='4,5' points to GPU 5, but there are only GPUs 0 to 1."],
        ),
        ({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0,1"}, []),
        ({"HIP_VISIBLE_DEVICES": "7"}, []),
        ({"HIP_VISIBLE_DEVICES": "", "SLURM_JOB_ID": "1"}, []),
    ],
)
def test_lists(environment: dict[str, str], summaries: list[str]) -> None:
    assert [f.summary for f in found(rule, machines.mi300x_host({"environment": environment}))] == summaries


def test_the_command_starts_without_the_list() -> None:
    (finding,) = found(rule, machines.mi300x_host({"environment": {"HIP_VISIBLE_DEVICES": "8"}}))
    assert finding.subject.id == "HIP_VISIBLE_DEVICES"
    assert finding.remedies[0].steps[0].command == ("env", "-u", "HIP_VISIBLE_DEVICES", "COMMAND")


def test_unknown_gpus() -> None:
    unknown = {"gpus": None, "kfd": None, "environment": {"HIP_VISIBLE_DEVICES": "8"}}
    assert told(rule, machines.mi300x_host(unknown)) == []


SHOWN = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3060\ncompute capability: sm_86\n{}\n"


@pytest.mark.parametrize(
    ("lines", "raised"),
    [
        ("export ROCR_VISIBLE_DEVICES=0\n", True),
        ("export ROCR_VISIBLE_DEVICES=\nexport HIP_VISIBLE_DEVICES=\n", False),
        ("export ROCR_VISIBLE_DEVICES=\nRuntimeError: No CUDA GPUs are available\n", True),
    ],
)
def test_amds_lists_on_nvidia_matter_with_a_value_or_a_failure(lines: str, raised: bool) -> None:
    machine = read_text([SHOWN.format(lines).encode()])
    assert any("is for AMD" in f.summary for f in found(rule, machine)) is raised


TWO = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A6000\nGPU 1: NVIDIA RTX A6000\nexport CUDA_VISIBLE_DEVICES={}\n{}\n"


@pytest.mark.parametrize(
    ("given", "line", "raised"),
    [
        ("4,5", "two slots are slow", False),
        ("4,5", "RuntimeError: CUDA error: invalid device ordinal", True),
        ("5", "two slots are slow", True),
    ],
)
def test_as_many_gpus_as_the_list_names_are_those_that_it_leaves(given: str, line: str, raised: bool) -> None:
    assert bool(found(rule, read_text([TWO.format(given, line).encode()]))) is raised


ONE = "$ rocminfo\n*******\nAgent 3\n*******\n  Name: gfx942\n  Vendor Name: AMD\n  Device Type: GPU\n"


@pytest.mark.parametrize(
    ("line", "raised"),
    [
        ("$ env\nHIP_VISIBLE_DEVICES=0,1,2,3", False),
        ("$ env\nHIP_VISIBLE_DEVICES=2,3", True),
        ("$ env\nHIP_VISIBLE_DEVICES=0,1,2,3\nRuntimeError: No HIP GPUs are available", True),
        (
            "HIP_VISIBLE_DEVICES=5 gemm_tool -m 64\n"
            "$ rocm-smi --showpower\nGPU[5]\t\t: Average Graphics Package Power (W): 90.0",
            False,
        ),
        ("HIP_VISIBLE_DEVICES=5 gemm_tool -m 64", True),
    ],
)
def test_a_list_beside_an_excerpt_of_one_gpu_tells_how_many_there_are(line: str, raised: bool) -> None:
    assert bool(found(rule, read_text([f"{ONE}\n{line}\n".encode()]))) is raised


NODES = "docker run {}-e NVIDIA_VISIBLE_DEVICES={} ubuntu nvidia-smi -L\n"
BOTH = "--runtime=nvidia --device=/dev/nvidiactl --device=/dev/nvidia0 "
K80S = "GPU 0: Tesla K80 (UUID: GPU-6f233ab5-200d-f809-b2d6-8d9909735d41)\nGPU 1: Tesla K80 (UUID: GPU-36a06e86-501a-6f52-3938-13a884435fe0)\n"  # noqa: E501


@pytest.mark.parametrize(
    ("options", "listed", "seen", "severity"),
    [
        (BOTH, "0", K80S, "warning"),
        (BOTH, "0", K80S.splitlines()[0], "info"),
        (BOTH, "void", K80S, None),
        ("--runtime=nvidia ", "0", K80S, None),
        ("--runtime=nvidia --device=/dev/nvidia-uvm ", "0", K80S, None),
    ],
)
def test_gpus_given_by_nodes_and_by_the_list(options: str, listed: str, seen: str, severity: str | None) -> None:
    text = f"$ {NODES.format(options, listed)}{seen}\n"
    found = rule.check(read_text([text.encode()]), Knowledge(), None)
    said = [f.severity.value for f in found if "order GPUs differently" in f.summary]
    assert said == ([severity] if severity else [])


SLURM = {"SLURM_JOB_ID": "7"}


@pytest.mark.parametrize("listed", ["8", "0,1,9", "4-8"])
def test_slurm_gave_a_gpu_that_is_not_here(listed: str) -> None:
    (finding,) = told(rule, machines.h100_host({"environment": {**SLURM, "SLURM_JOB_GPUS": listed}}))
    assert finding == ("warning", "SLURM_JOB_GPUS", f"Slurm gave this job GPU {listed[-1]}, but this machine has 8.")


@pytest.mark.parametrize("listed", ["7", "0-7", "", "tesla:2", "0,1(S:0-1)"])
def test_slurm_s_lists_that_fit_or_say_no_number(listed: str) -> None:
    assert told(rule, machines.h100_host({"environment": {**SLURM, "SLURM_JOB_GPUS": listed}})) == []


def test_slurm_may_count_instances() -> None:
    mig = {f"gpus[{machines.H100[0]}].mig_mode": "enabled"}
    assert told(rule, machines.h100_host({"environment": {**SLURM, "SLURM_JOB_GPUS": "12"}, **mig})) == []


def test_a_cdi_name_in_a_list_is_compared_by_what_it_names() -> None:
    uuids = {f"gpus[{a}].uuid": f"GPU-0000000{at}-1111-2222-3333-444444444444" for at, a in enumerate(machines.H100)}
    here, gone = "GPU-00000003-1111-2222-3333-444444444444", "GPU-0000000f-1111-2222-3333-444444444444"
    for name, wrong in ((here, []), (gone, [("error", "NVIDIA_VISIBLE_DEVICES")])):
        environment = {"NVIDIA_VISIBLE_DEVICES": f"nvidia.com/gpu={name}"}
        seen = told(rule, machines.h100_host({**uuids, "environment": environment}))
        assert [finding[:2] for finding in seen] == wrong
