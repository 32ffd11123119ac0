from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import vendors_there
from doctor.rules.lib.torch_build_at_hand import cpu_on_purpose

RULE = Rule(
    id="torch-sees-no-gpu",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="torch reports no usable GPU.",
    needs=({"torch.available", "gpus"}, {"torch.available", "nvidia_driver.loaded"}),
    proven="synthetic",
    order=90,
    tags=("consequences",),
    doc="""## What it finds
torch.cuda.is_available() is False, or torch reports that it found no GPU, on a machine with one.

## Why it matters
Work runs on the CPU or stops. It is a consequence; a known cause is shown above it.

## Not raised when
torch sees a GPU, or no GPU is known to be there. A build for Intel's GPUs (+xpu) does not use CUDA. It is only a
warning where the text mentions a login node.

## How to confirm
`python -c 'import torch; print(torch.cuda.is_available())'`

## Fix
Find the first row that is true on your machine.

| What you see | What is wrong | What to do |
|--|--|--|
| `torch.__version__` ends in `+cpu`, or `torch.version.cuda` and `torch.version.hip` are both None | torch is a CPU build | torch-cpu-only-build: install the same release from `https://download.pytorch.org/whl/cu126` (NVIDIA) or `/rocm7.2` (AMD) |
| `torch.version.cuda` is set and the GPU is AMD's, or `torch.version.hip` and it is NVIDIA's | torch is built for the other vendor | torch-built-for-other-vendor |
| You are in a container: `nvidia-smi` is missing, or there is no /dev/kfd | the GPU was not passed | container-missing-gpu-passthrough: `--gpus all`, or `--device /dev/kfd --device /dev/dri --group-add GID` |
| `nvidia-smi` says that it can't communicate with the driver; /sys/module/amdgpu is missing | the driver is not loaded | nvidia-driver-not-loaded, amdgpu-driver-not-loaded, nouveau-loaded, secure-boot-blocks-module |
| `nvidia-smi` says "Driver/library version mismatch" | the driver was upgraded without a reboot | nvidia-driver-library-mismatch: reboot |
| torch says that the driver is too old, or `nvidia-smi` shows a lower CUDA than `torch.version.cuda` | the driver is too old | nvidia-driver-too-old: upgrade it, or install torch for an older CUDA |
| "Unable to open /dev/kfd", or `id` shows no `render` group | no permission | device-node-permission: `usermod -aG render,video USER`, then log in again |
| CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES is set, empty or -1 | the GPU is hidden | visible-devices-conflict: unset it |
| `rocminfo` shows a gfx target that `torch.cuda.get_arch_list()` lacks | torch has no code for the GPU | amd-gpu-unsupported-by-rocm, torch-missing-gpu-arch |
| In WSL, /dev/dxg is missing | WSL cannot reach the Windows driver | wsl-gpu-misconfigured: update the driver on Windows, then `wsl --update` |
| In a Slurm job or a pod | the job asked for no GPU | scheduler-no-gpu-allocated |

`doctor check` goes through all of these and shows which one it is.

## Fix safety
The checks change nothing. The page of each rule names the cost of its fix.

## References
https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html
""",  # noqa: E501 (rows of a table)
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """In a container its devices come first; else a check of the machine."""
    if machine.container.inside:
        nodes = ("ls", "-l", "/dev/kfd", "/dev/dri") if vendors_there(machine) == {"amd"} else ("nvidia-smi", "-L")
        title = "Check that the container has the GPU's device nodes and libraries."
        return (way(title, Scope.CONTAINER, step("Run in the container.", *nodes, where="container")),)
    see = step("Run it on the machine, with the same user and environment.", "doctor", "check")
    return (way("Run `doctor check` on that machine to find out why.", Scope.ENVIRONMENT, see),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Only where a GPU is known to be there."""
    seen = machine.torch.build == "xpu"
    if machine.torch.available is False and vendors_there(machine) and not seen:
        # Asked on a login node it is no surprise, and says nothing of the nodes that have the GPUs.
        severity = RULE.severity
        if cpu_on_purpose(machine):
            severity = Severity.INFO
        yield Finding(
            summary="torch.cuda.is_available() is False on a machine with a GPU.",
            severity=severity,
            subject=Subject(kind="package", id="torch"),
            evidence=evidence(machine, ("torch.available", "torch.version", "gpus")),
            remedies=advice(machine, kb),
        )
