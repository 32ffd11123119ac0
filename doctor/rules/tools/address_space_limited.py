from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import command, step
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="address-space-limited",
    severity=Severity.ERROR,
    scope=Scope.JOB,
    action=Action.RECONFIGURE,
    layer=Layer.DEVICES,
    title="A limit on the address space keeps GPU programs from starting.",
    needs=({"host.as_bytes", "gpus"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=22,
    tags=("tools", "access"),
    doc="""## What it finds
A limit on virtual memory (`ulimit -v`, h_vmem of Grid Engine) that is smaller than the memory of this machine's GPUs.

## Why it matters
CUDA and ROCm reserve addresses for the memory of every GPU when they start. Under such a limit they stop with "out of
memory", although the GPU and the machine have plenty.

## Not raised when
The limit is not set, or is larger than the memory of all GPUs, or their memory is not known.

## How to confirm
`ulimit -v` in the shell or job that starts the program: it must print `unlimited`.

## Fix
Run `ulimit -v unlimited` in the shell or job script that starts the program. If that is refused, the hard limit comes
from /etc/security/limits.conf (`as`) or from the scheduler (Slurm: VSizeFactor in slurm.conf). Limit resident memory by
a control group instead.

## Fix safety
No root for the shell's own limit; it lasts as long as the shell. Applies to processes started afterwards.

## References
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html (Unified Virtual Address Space)
""",
)


REMEDIES = (
    command(
        "Start the program (COMMAND) without the limit; as root, where the hard limit (`ulimit -Hv`) is low too.",
        Scope.JOB,
        *("prlimit", "--as=unlimited", "COMMAND"),
        undo=(step("Start the program without prlimit.", where="environment"),),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    limit = machine.host.as_bytes
    memory = sum(gpu.memory_bytes or 0 for gpu in machine.gpus or () if not gpu.integrated)
    if limit is None or limit < 0 or limit >= memory:
        return
    yield Finding(
        summary=f"The address-space limit ({limit >> 30} GiB) is below the GPUs' memory ({memory >> 30} GiB).",
        subject=Subject(kind="limit", id="address space"),
        evidence=evidence(machine, ("host.as_bytes", "gpus")),
        remedies=REMEDIES,
        verify=("sh", "-c", "ulimit -v"),
    )
