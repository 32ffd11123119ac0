"""scheduler-no-gpu-allocated: a Slurm job without GPUs."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Finding, Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.access import scheduler_no_gpu_allocated as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_slurm_hides_all_gpus_of_the_job() -> None:
    job = {"environment": {"SLURM_JOB_ID": "4711", "CUDA_VISIBLE_DEVICES": "NoDevFiles"}}
    (finding,) = found(rule, machines.h100_host(job))
    assert finding.summary == "Slurm job 4711 has no GPU in its allocation (CUDA_VISIBLE_DEVICES='NoDevFiles')."
    assert finding.subject.id == "slurm"
    assert finding.fixes[0].command == ("sbatch", "--gpus-per-node=1", "JOB_SCRIPT")


def test_no_node_opens_for_the_job() -> None:
    shut = {"nodes": None, "nodes[/dev/nvidia0].kind": "nvidia", "nodes[/dev/nvidia0].is_device": True,
            "nodes[/dev/nvidia0].openable": False, "environment": {"SLURM_JOB_ID": "4711"}}  # fmt: skip
    assert told(rule, machines.h100_host(shut)) == [
        ("error", "slurm", "Slurm job 4711 has no GPU in its allocation (no GPU node opens for this job).")
    ]


@pytest.mark.parametrize(
    "environment",
    [
        {"SLURM_JOB_ID": "1", "SLURM_JOB_GPUS": "0,1", "CUDA_VISIBLE_DEVICES": ""},
        {"SLURM_JOB_ID": "1"},
        {"CUDA_VISIBLE_DEVICES": ""},
    ],
    ids=("given", "gpus not managed", "no job"),
)
def test_near_misses(environment: dict[str, str]) -> None:
    assert told(rule, machines.h100_host({"environment": environment})) == []


def test_unknown_environment_or_opening() -> None:
    assert told(rule, machines.h100_host({"environment": None})) == []
    assert told(rule, machines.h100_host({"nodes": None, "environment": {"SLURM_JOB_ID": "1"}})) == []


def test_a_pod_that_asks_for_no_gpu() -> None:
    pod = "container engine: kubernetes\nthe pod sees no GPU\nresources:\n  requests:\n    cpu: 2\n"
    (finding,) = [f for f in judge(read_text([pod.encode()]), Knowledge()).findings if f.rule == rule.RULE.id]
    assert finding.severity is Severity.WARNING
    assert finding.summary == "The pod that is shown asks its scheduler for no GPU."
    assert finding.fixes[0].command is None


def test_a_pod_without_gpus_of_which_nobody_complains() -> None:
    pod = "container engine: kubernetes\nthe exporter runs\nresources:\n  requests:\n    cpu: 2\n"
    findings = [f for f in judge(read_text([pod.encode()]), Knowledge()).findings if f.rule == rule.RULE.id]
    assert [f.severity for f in findings] == [Severity.INFO]


def _of(text: str) -> Finding:
    return next(f for f in judge(read_text([text.encode()]), Knowledge()).findings if f.rule == rule.RULE.id)


def test_gpus_that_were_asked_for_and_that_no_node_has_to_give() -> None:
    pending = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n"
    pod = _of(pending)
    assert pod.severity is Severity.WARNING
    assert pod.summary == "No node has as many GPUs to give as the pod asks for."
    assert [fix.command for fix in pod.fixes] == [("kubectl", "describe", "nodes"), None]
    amd = _of(pending + "Name: gfx942\nMarketing Name: AMD Instinct MI300X\n")
    assert "amd.com/gpu" in amd.fixes[0].text


def test_a_job_that_names_a_kind_of_gpu_which_slurm_does_not_know() -> None:
    refused = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    asked = _of("sbatch --gres=gpu:a100:2 train.sbatch\n" + refused)
    assert asked.severity is Severity.WARNING
    assert asked.fixes[0].command == ("sinfo", "-o", "%P %N %G")
    assert _of(refused).fixes == rule.FIXES
