"""scheduler-no-gpu-allocated: a Slurm job without GPUs."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.findings import Finding, Severity
from doctor.knowledge import Knowledge
from doctor.rules.access import scheduler_no_gpu_allocated as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_slurm_hides_all_gpus_of_the_job() -> None:
    job = {"environment": {"SLURM_JOB_ID": "4711", "CUDA_VISIBLE_DEVICES": "NoDevFiles"}}
    (finding,) = found(rule, machines.h100_host(job))
    assert finding.summary == "Slurm job 4711 was allocated no GPU (CUDA_VISIBLE_DEVICES='NoDevFiles')."
    assert finding.subject.id == "slurm"
    assert finding.remedies[0].steps[0].command == ("sbatch", "--gpus-per-node=1", "JOB_SCRIPT")


def test_no_node_opens_for_the_job() -> None:
    shut = {"nodes": None, "nodes[/dev/nvidia0].kind": "nvidia", "nodes[/dev/nvidia0].is_device": True,
            "nodes[/dev/nvidia0].openable": False, "environment": {"SLURM_JOB_ID": "4711"}}  # fmt: skip
    assert told(rule, machines.h100_host(shut)) == [
        ("error", "slurm", "Slurm job 4711 was allocated no GPU (this job cannot open any GPU node).")
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
    assert pod.summary == "No node has enough free GPUs for this pod."
    assert [fix.steps[0].command for fix in pod.remedies] == [("kubectl", "describe", "nodes")]
    amd = _of(pending + "Name: gfx942\nMarketing Name: AMD Instinct MI300X\n")
    assert "amd.com/gpu" in amd.remedies[0].title
