"""A security profile of the container blocks what the GPU stack needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line
from doctor.rules.hardware import needed_nodes, refused

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-security-profile",
    severity=Severity.ERROR,
    title="A security profile of the container blocks what the GPU stack needs.",
    needs=({"container.seccomp", "container.capabilities", "gpus"}, {"container.mempolicy"}),
    facts_decide=False,
    proven="synthetic",
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
seccomp, AppArmor, SELinux or a missing capability refuses a call (ptrace, set_mempolicy, move_pages, perf_event_open)
or a node.

## Why it matters
NUMA calls or debuggers fail with 'Operation not permitted', or opening a node fails under SELinux while its mode
allows it.

## Not raised when
No error text of it was seen. Where the container's seccomp filter closes the memory policy calls (tried from inside
on a machine of several NUMA nodes, read from the profile with `--in`), that is a remark: most programs bind nothing.

## How to confirm
`ausearch -m avc -ts recent` on the host, or the same container with `--security-opt seccomp=unconfined`.

## Fix
Allow only what is missing: a capability, an SELinux label, a seccomp profile.

## Fix safety
Each option weakens the container's isolation; use the narrowest.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
""",
)

FIXES = (
    Fix(
        text="For NUMA calls and debuggers.",
        command=("docker", "run", "--cap-add=SYS_PTRACE", "--security-opt", "seccomp=unconfined", "IMAGE"),
        risk="Lets the container make system calls that the default profile blocks.",
    ),
    Fix(
        text="Under SELinux, let containers use devices.",
        command=("setsebool", "-P", "container_use_devices=true"),
        root=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A remark: the memory policy calls are closed, by what was tried or read, else on a machine whose GPUs sit on
    several NUMA nodes by the engine's own profile."""
    box = machine.container
    if box.inside and box.mempolicy == "refused":
        yield Finding(
            summary="NUMA binding (numactl, set_mempolicy) is refused by the container's seccomp profile.",
            severity=Severity.INFO,
            subject=Subject(kind="container", id="mempolicy"),
            evidence=evidence(machine, ("container.mempolicy", "container.seccomp", "container.capabilities")),
            fixes=(_NUMA if "SYS_NICE" not in (box.capabilities or ()) else _PROFILE,),
            verify=("numactl", "--show"),
        )
        return
    nodes = {gpu.numa_node for gpu in machine.gpus or () if gpu.numa_node is not None and gpu.numa_node >= 0}
    closed = box.seccomp == "filter" and box.capabilities is not None and "SYS_NICE" not in box.capabilities
    if (
        box.mempolicy == "allowed"
        or not (box.inside and closed and len(nodes) > 1)
        or box.engine not in _WITH_DEFAULT_PROFILE
    ):
        return
    yield Finding(
        summary="NUMA binding (numactl, set_mempolicy) is refused by the container's seccomp profile.",
        severity=Severity.INFO,
        subject=Subject(kind="container", id="mempolicy"),
        evidence=evidence(machine, ("container.seccomp", "container.capabilities", "container.engine")),
        fixes=(_NUMA,),
        verify=("numactl", "--show"),
    )


_WITH_DEFAULT_PROFILE = ("docker", "kubernetes", "containerd")
"""Their default profile opens set_mempolicy, get_mempolicy and mbind with CAP_SYS_NICE alone (github.com/moby/profiles,
seccomp/default.json; containerd/containerd#13610). Podman's lets them through (containers/common, pkg/seccomp)."""
_NUMA = Fix(
    text="Start the container with the capability that opens these calls; seccomp=unconfined is not needed.",
    command=("docker", "run", "--cap-add", "SYS_NICE", "IMAGE"),
)


_PROFILE = Fix(
    text="Let set_mempolicy, get_mempolicy and mbind through in the seccomp profile that the container is given.",
    command=("docker", "run", "--security-opt", "seccomp=PROFILE.json", "IMAGE"),
)
_RECORDS = ("selinux-record", "selinux-denies")
"""The kernel asks SELinux after owner and mode have agreed, so a record of a denial is not about groups."""


def unheard(machine: Snapshot) -> bool:
    """Where the container is started with --privileged: it has no profile. Where a stream captures: its GPU is open,
    and it is CUDA that permits no such call, not the kernel."""
    return bool(run_line.options(machine, "--privileged")) or machine.symptom("capture-not-permitted") is not None


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Nothing where owner and mode of a node are seen to keep the account out, and nobody gets in past the profile."""
    recorded = machine.symptom(*_RECORDS, "helped-by-security-option") is not None
    if recorded or not any(refused(machine, n) or (n.mode and n.mode & 0o006 != 0o006) for n in needed_nodes(machine)):
        yield Finding(summary=RULE.title, subject=Subject(kind="container", id="profile"), fixes=FIXES)
