from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import run_line
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.container_advice import recreate, with_amd, with_nvidia
from doctor.rules.lib.hardware import mode_permits, named, nodes_of

RULE = Rule(
    id="container-device-cgroup-denied",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.REBUILD,
    layer=Layer.DEVICES,
    title="The container's device cgroup blocks the GPU's device nodes.",
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
Opening the GPU nodes fails with EPERM ("Operation not permitted"), but owner and mode allow it. The node was mounted
or made by hand, and the device cgroup does not list it.

## Why it matters
`ls -l` looks right and nothing works: "Failed to initialize NVML: Unknown Error", "Unable to open /dev/kfd".

## Not raised when
At least one GPU node of the kind opens (a scheduler or engine allows only some), in a Slurm job
(scheduler-no-gpu-allocated), or the mode itself denies access.

## How to confirm
Opening the node fails with EPERM, not EACCES: `python3 -c 'open("/dev/kfd","r+b",0)'`.

## Fix
Pass the node with --device (not with -v), or add a device cgroup rule for its major number.

## Fix safety
Needs a new container. `--privileged` works too, but opens everything: avoid it.

## References
https://docs.docker.com/reference/cli/docker/container/run/#device-cgroup-rule
https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/devices.html
""",
)

_KINDS = ("kfd", "render", "nvidia")


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
            summary=f"The device cgroup blocks {named([n.key for n in denied])}; the file mode allows it.",
            subject=Subject(kind="node", id=denied[0].key),
            evidence=tuple(
                Evidence(
                    text=f"{n.key}: mode {n.mode:04o}, opening it fails with EPERM",
                    source=machine.source(f"nodes[{n.key}].mode"),
                )
                for n in denied[:8]
            ),
            remedies=_remedies(machine, kind, denied[0].major),
        )


def _of_no_container(machine: Snapshot, node: DeviceNode) -> bool:
    """A pasted text without a sign of a container: a half-installed driver causes EPERM as well."""
    inside = machine.container.inside or machine.container.run_args or machine.container.engine
    return not inside and run_line.from_text(machine, f"nodes[{node.key}].mode")


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
        summary=f"{node} is mounted as a volume (-v), so the device cgroup blocks it.",
        severity=Severity.WARNING,
        subject=Subject(kind="node", id=node),
        evidence=tuple(Evidence(text=f"-v {v}", source=machine.source("container.run_args")) for v in mounted[:8]),
        remedies=_remedies(machine, "nvidia" if "nvidia" in node else "kfd", None),
    )


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error text says it: `--device` opens the device cgroup for the nodes, a volume does not."""
    return (*with_amd(machine), *with_nvidia(machine))


def _remedies(machine: Snapshot, kind: str, major: int | None) -> tuple[Remedy, ...]:
    whole = with_nvidia(machine) if kind == "nvidia" else with_amd(machine)
    if major is None or machine.container.engine == "kubernetes":
        return whole
    title = f"Recreate the container with a device rule for major number {major}."
    return (*whole, recreate(machine, title, "--device-cgroup-rule", f"c {major}:* rw"))
