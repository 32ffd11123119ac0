"""visible-devices-conflict: lists that hide GPUs."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.flags import visible_devices_conflict as rule
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told


@pytest.mark.parametrize(
    ("environment", "summaries"),
    [
        (
            {"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "2,3"},
            ["HIP_VISIBLE_DEVICES=0,1 and CUDA_VISIBLE_DEVICES=2,3 differ: HIP and launchers take other GPUs."],
        ),
        ({"HIP_VISIBLE_DEVICES": "8"}, ["HIP_VISIBLE_DEVICES='8' names GPU 8 of 8 (0 to 7)."]),
        ({"HIP_VISIBLE_DEVICES": ""}, ["HIP_VISIBLE_DEVICES='' hides every GPU."]),
        (
            {"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "4,5"},
            ["HIP_VISIBLE_DEVICES='4,5' names GPU 5 of 2 (0 to 1)."],
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
    assert finding.fixes[0].command == ("env", "-u", "HIP_VISIBLE_DEVICES", "COMMAND")


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
    assert any("is AMD's" in f.summary for f in found(rule, machine)) is raised


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


def test_words_accuse_no_whole_list_beside_an_excerpt() -> None:
    assert rule.unheard(read_text([f"{ONE}$ env\nHIP_VISIBLE_DEVICES=0,1,2,3\nKeyError: 'score'\n".encode()]))
    assert not rule.unheard(read_text([f"{ONE}$ env\nHIP_VISIBLE_DEVICES=1,3\nKeyError: 'score'\n".encode()]))


def test_a_name_that_will_go_is_no_conflict() -> None:
    note = "WARNING Using CUDA_VISIBLE_DEVICES on ROCm is deprecated and support will be removed in vLLM v0.26.0.\n"
    note += "Please use HIP_VISIBLE_DEVICES instead.\n"
    assert raised(note) == ["env-flag-unknown-or-renamed"]
    assert rule.unheard(read_text([note.encode()]))
    assert not rule.unheard(read_text([f"{note}{ORDINAL}".encode()]))


ORDINAL = "RuntimeError: CUDA error: invalid device ordinal\n"


def test_a_task_of_one_gpu_that_asks_for_another_is_its_scripts() -> None:
    step = "srun --ntasks-per-node=4 --gpus-per-task={} python run.py\n"
    own, shared = (read_text([f"{ORDINAL}{step.format(gpus)}".encode()]) for gpus in (1, 4))
    assert (rule.unheard(own), rule.unheard(shared)) == (True, False)
    for machine, loud in ((own, False), (shared, True)):
        findings = judge(machine, Knowledge()).findings
        assert any(f.rule == rule.RULE.id and f.severity.value != "info" for f in findings) is loud


CARD = "GPU 0: NVIDIA GeForce RTX 3090\n"


@pytest.mark.parametrize(
    ("lines", "loud"),
    [
        ("python train.py --device cuda:1", False),
        ("python train.py --epochs 10 --gpu_id 3", False),
        ('model.to("cuda:2")', False),
        ("torch.cuda.set_device(1)", False),
        ("python train.py --device cuda:0", True),
        ("python train.py --epochs 10 --device cuda:0", True),
        ("python train.py", True),
        ("CUDA_VISIBLE_DEVICES=1 python train.py --device cuda:1", True),
        ("export CUDA_VISIBLE_DEVICES=0\npython train.py --device cuda:1", True),
        ("docker run --gpus all --device 1 IMAGE", True),
        ("GPU 1: NVIDIA GeForce RTX 3090\npython train.py --device cuda:1", True),
    ],
)
def test_a_number_that_the_gpus_do_not_have_is_the_programs(lines: str, loud: bool) -> None:
    findings = judge(read_text([f"{CARD}{lines}\n{ORDINAL}".encode()]), Knowledge()).findings
    assert any(f.rule == rule.RULE.id and f.severity.value != "info" for f in findings) is loud


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
    said = [f.severity.value for f in found if "count in different orders" in f.summary]
    assert said == ([severity] if severity else [])
