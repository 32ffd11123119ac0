from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import command, step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.container_advice import pod
from doctor.rules.lib.hardware import nodes_of, vendors_there

RULE = Rule(
    id="scheduler-no-gpu-allocated",
    severity=Severity.ERROR,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.DEVICES,
    title="The scheduler gave this job no GPU.",
    needs=(
        {"environment"},
        {"host.job_asks_gpus"},
        {"symptom:k8s-insufficient-gpu"},
        {"host.job_asks_gpus", "symptom:slurm-no-gpu"},
    ),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "no-gpu-found", "nvidia-driver-not-loaded"),
        *("visible-devices-conflict", "container-missing-gpu-passthrough", "amdgpu-driver-not-loaded"),
    ),
    order=19,
    facts_decide=False,
    tags=("access", "scheduler"),
    doc="""## What it finds
A Slurm job (SLURM_JOB_ID is set) with none of Slurm's GPU variables, and a sign that it got none: an empty
CUDA_VISIBLE_DEVICES or `NoDevFiles`, or GPU nodes of which none opens. In a text also a job or pod that is shown
completely and requests no GPU.

## Why it matters
The node has GPUs, but the job cannot use any of them.

## Not raised when
Any of Slurm's GPU variables names one, or a GPU node opens (a cluster that does not manage GPUs). An out-of-range
device number rules it out: a job without GPUs has none to count.

## How to confirm
`scontrol show job $SLURM_JOB_ID`: TresPerNode or AllocTRES must name gres/gpu.

## Fix
Request GPUs when submitting: `--gpus-per-node=1` or `--gres=gpu:1`; in a pod `resources.limits` with `nvidia.com/gpu:
1` or `amd.com/gpu: 1`.

## References
https://slurm.schedmd.com/gres.html
""",
)

REMEDIES = (
    command(
        "Request GPUs when submitting (JOB_SCRIPT: yours).", Scope.JOB, "sbatch", "--gpus-per-node=1", "JOB_SCRIPT"
    ),
)


def _pod(machine: Snapshot) -> Remedy:
    there = vendors_there(machine)
    name = f"{next(iter(there))}.com/gpu" if len(there) == 1 else "nvidia.com/gpu (or amd.com/gpu on AMD nodes)"
    return pod("Request a GPU in the pod's manifest.", f"Set {name} to 1 in resources.limits of the container.")


_GIVEN = (
    *("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"),
    *("SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET"),
)


def _asked_for_none(machine: Snapshot) -> Iterator[Finding]:
    """A job shown whole, without GPUs: sure where somebody says that none is seen."""
    sure = run_line.sees_none(machine)
    pod = machine.container.engine == "kubernetes"
    yield Finding(
        summary=f"The {'pod' if pod else 'job'} shown here does not request a GPU.",
        severity=Severity.WARNING if sure else Severity.INFO,
        suspect=0 if sure else 3,
        subject=Subject(kind="job", id="pod" if pod else "slurm"),
        evidence=evidence(machine, ("host.job_asks_gpus",)),
        remedies=(_pod(machine),) if pod else REMEDIES,
        verify=("kubectl", "describe", "pod", "POD") if pod else ("scontrol", "show", "job", "JOB_ID"),
    )


def _refused(machine: Snapshot) -> Finding | None:
    """A request for GPUs that no node meets: to ask for some is no remedy there."""
    insufficient = machine.symptom("k8s-insufficient-gpu")
    pod = insufficient is not None
    refused = insufficient if pod else machine.symptom("slurm-no-gpu") if machine.host.job_asks_gpus else None
    if refused is None or (not pod and "node configuration" not in refused.text):
        return None
    other = pod and vendors_there(machine) == {"amd"} and "nvidia.com/gpu" in refused.text
    return Finding(
        summary="No node has enough free GPUs for this pod."
        if pod
        else "Slurm has no node with the GPUs that this job requests; it lists others, or fewer.",
        severity=Severity.INFO,
        suspect=1,
        basis="symptom",
        subject=Subject(kind="job", id="pod" if pod else "slurm"),
        evidence=(Evidence(text=refused.text, source=refused.source),),
        remedies=(_AMD_NAME, *_POD_OFFERED) if other else _POD_OFFERED if pod else _SLURM_OFFERED,
        verify=("kubectl", "describe", "nodes") if pod else ("sinfo", "-o", "%P %N %G"),
    )


_AMD_NAME = pod(
    "Request amd.com/gpu in the pod's manifest.",
    "Replace nvidia.com/gpu with amd.com/gpu in the container's resources.limits; AMD's plugin has no other name.",
    "amd",
)
_POD_OFFERED = (
    way(
        "Request as many GPUs as a node has free.",
        Scope.JOB,
        step("Show what each node offers and which pods use it.", "kubectl", "describe", "nodes"),
        step("Request fewer GPUs, or delete pods that reserve GPUs and do not use them."),
        step("A node that offers 0 needs its vendor's device plugin."),
    ),
)
_SLURM_OFFERED = (
    way(
        "Request the GPUs by the type and number that Slurm lists.",
        Scope.JOB,
        step("Show the types and numbers of GPUs.", "sinfo", "-o", "%P %N %G"),
        step("Submit the job again (JOB_SCRIPT: yours).", "sbatch", "--gres=gpu:1", "JOB_SCRIPT", where="environment"),
    ),
)

_VISIBLE = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


_CPU_PARTITION = re.compile(
    r"(?:^|[-_])cpus?(?:$|[-_\d])|^(?:bigmem|highmem|himem|hugemem|fat)(?:$|[-_\d])", re.IGNORECASE
)
_GPU_PARTITION = re.compile(r"gpu|cuda|a100|h[12]00|v100|mi\d{3}", re.IGNORECASE)


def _of_processors(machine: Snapshot) -> bool:
    """Whether a pasted job runs in a partition that is named for processors, and nothing says that a GPU is missed."""
    partition = (machine.environment or {}).get("SLURM_JOB_PARTITION", "")
    named = _CPU_PARTITION.search(partition) is not None and _GPU_PARTITION.search(partition) is None
    return (
        named
        and run_line.from_text(machine, "environment[SLURM_JOB_ID]")
        and machine.host.job_asks_gpus is not True
        and not run_line.sees_none(machine)
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Needs a positive sign: missing variables alone may mean that the cluster does not manage GPUs."""
    env = machine.environment or {}
    if (refused := _refused(machine)) is not None:
        yield refused
        return
    if machine.host.job_asks_gpus is False:
        yield from _asked_for_none(machine)
        return
    void_pod = machine.container.engine == "kubernetes" and env.get("NVIDIA_VISIBLE_DEVICES") == "void"
    if void_pod and run_line.sees_none(machine) and not nodes_of(machine, "nvidia"):  # with CDI it stands beside GPUs
        yield Finding(
            summary="The pod got no GPU (NVIDIA_VISIBLE_DEVICES=void): its limits request none.",
            severity=Severity.WARNING,
            explains=("container-missing-gpu-passthrough", "container-runtime-not-configured", *RULE.explains),
            subject=Subject(kind="job", id="pod"),
            evidence=evidence(machine, ("environment[NVIDIA_VISIBLE_DEVICES]",)),
            remedies=(_pod(machine),),
            verify=("kubectl", "describe", "pod", "POD"),
        )
        return
    void = next((n for n in _VISIBLE if env.get(n) == "NoDevFiles"), None)
    if void and "SLURM_JOB_ID" not in env:
        yield Finding(
            summary=f"Slurm gave this job no GPU ({void}=NoDevFiles).",
            subject=Subject(kind="job", id="slurm"),
            evidence=(Evidence(text=f"{void}=NoDevFiles", source=machine.source(f"environment[{void}]")),),
            remedies=REMEDIES,
        )
    if "SLURM_JOB_ID" not in env or any(env.get(name, "0") not in ("0", "") for name in _GIVEN):
        return
    if _of_processors(machine):
        return
    sign = next((f"{n}={env[n]!r}" for n in _VISIBLE if env.get(n) in ("", "NoDevFiles")), None)
    gpus = nodes_of(machine, "nvidia", "render", "kfd")
    if not sign and gpus and all(n.openable is False for n in gpus):
        sign = "this job cannot open any GPU node"
    text = run_line.from_text(machine, "environment[SLURM_JOB_ID]") and machine.host.job_asks_gpus is not True
    if not sign and text and run_line.sees_none(machine):
        sign = "none of its variables names a GPU"
    if sign:
        yield Finding(
            summary=f"Slurm job {env['SLURM_JOB_ID'][:20]} was allocated no GPU ({sign}).",
            subject=Subject(kind="job", id="slurm"),
            evidence=(Evidence(text=sign, source="environment"),),
            remedies=REMEDIES,
            verify=("scontrol", "show", "job", env["SLURM_JOB_ID"][:20]),
        )
