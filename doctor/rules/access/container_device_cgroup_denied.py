"""The node's mode would let this account in, and the device cgroup refuses every GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import run_line
from doctor.rules.hardware import mode_permits, named, nodes_of

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-device-cgroup-denied",
    severity=Severity.ERROR,
    title="The device cgroup refuses the GPU's nodes although their mode allows them.",
    needs=({"nodes"}, {"container.run_args"}),
    proven="synthetic",
    explains=(
        "torch-sees-no-gpu",
        "framework-sees-no-gpu",
        "container-lost-devices",
        "container-missing-gpu-passthrough",
        "amd-gpu-unsupported-by-rocm",
        "nvidia-uvm-stale-after-suspend",
        "nvidia-uvm-missing",
    ),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
Opening the GPU nodes answers EPERM ("Operation not permitted") although owner and mode permit it: the node was mounted
or made by hand, and the device cgroup does not list it.

## Why it matters
`ls -l` looks right and nothing works: "Failed to initialize NVML: Unknown Error", "Unable to open /dev/kfd".

## Not raised when
At least one GPU node of the kind opens (a scheduler or engine allows only some), in a Slurm job
(scheduler-no-gpu-allocated), or when the mode itself refuses.

## How to confirm
Opening the node fails with EPERM, not EACCES: `python3 -c 'open("/dev/kfd","r+b",0)'`.

## Fix
Pass the node with --device (not with -v), or add a device cgroup rule for its major number.

## Fix safety
The container must be started again. `--privileged` would work too and opens everything: avoid it.

## References
https://docs.docker.com/reference/cli/docker/container/run/#device-cgroup-rule
https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/devices.html
""",
)

FIXES = (
    Fix(
        text="Pass the nodes with --device instead of a volume: the engine then allows them in the device cgroup.",
        command=("docker", "run", "--device", "/dev/kfd", "--device", "/dev/dri", "IMAGE"),
    ),
)
_KINDS = ("kfd", "render", "nvidia")


def excludes(machine: Snapshot) -> bool:
    """Where the run line of a pasted text asked the engine for the GPUs and a restart gives them back: the device
    cgroup allowed them at the start (container-lost-devices)."""
    given = run_line.passes_nvidia(machine) and run_line.from_text(machine, "container.run_args")
    return given and machine.symptom("container-restart-cures", "new-container-works-told") is not None


def unheard(machine: Snapshot) -> bool:
    """Where a stream captures: its GPU is open, and it is CUDA that permits no such call, not the kernel."""
    return machine.symptom("capture-not-permitted") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a kind of node, when none of that kind opens and none is refused by its mode."""
    if "SLURM_JOB_ID" in (machine.environment or {}):
        return
    yield from _of_volumes(machine)
    for kind in _KINDS:
        nodes = nodes_of(machine, kind)
        denied = [
            n for n in nodes if n.openable is False and n.open_error == "EPERM" and mode_permits(machine, n) is True
        ]
        if not denied or len(denied) < len(nodes) or _of_no_container(machine, denied[0]):
            continue
        yield Finding(
            summary=f"The device cgroup refuses {named([n.key for n in denied])} although the mode allows it.",
            subject=Subject(kind="node", id=denied[0].key),
            evidence=tuple(
                Evidence(
                    text=f"{n.key}: mode {n.mode:04o}, opening it answers EPERM",
                    source=machine.source(f"nodes[{n.key}].mode"),
                )
                for n in denied[:8]
            ),
            fixes=_fixes(kind, denied[0].major),
        )


def _of_no_container(machine: Snapshot, node: DeviceNode) -> bool:
    """A pasted text in which nothing tells of a container: a half-installed driver answers EPERM as well."""
    told = machine.container.inside or machine.container.run_args or machine.container.engine
    return not told and run_line.from_text(machine, f"nodes[{node.key}].mode")


def _of_volumes(machine: Snapshot) -> Iterator[Finding]:
    """Nodes that a run line mounts as files."""
    mounted = [
        v
        for v in run_line.options(machine, "-v", "--volume")
        if v.startswith(("/dev/kfd", "/dev/dri", "/dev/nvidia", "/dev:/dev"))
    ]
    if not mounted or run_line.options(machine, "--privileged", "--device-cgroup-rule", "--device", "--gpus"):
        return
    node = mounted[0].split(":")[0]
    yield Finding(
        summary=f"{node} is mounted as a volume: the device cgroup does not allow it.",
        severity=Severity.WARNING,
        subject=Subject(kind="node", id=node),
        evidence=tuple(Evidence(text=f"-v {v}", source=machine.source("container.run_args")) for v in mounted[:8]),
        fixes=_fixes("nvidia" if "nvidia" in node else "kfd", None),
    )


def _fixes(kind: str, major: int | None) -> tuple[Fix, ...]:
    if kind == "nvidia":
        whole = Fix(text="Let the engine pass the GPUs.", command=("docker", "run", "--gpus", "all", "IMAGE"))
    else:
        whole = FIXES[0]
    if major is None:
        return (whole,)
    rule = f"c {major}:* rw"
    return (
        whole,
        Fix(
            text="Or allow the major number.",
            command=("docker", "run", "--device-cgroup-rule", rule, "IMAGE"),
            where="host",
        ),
    )
