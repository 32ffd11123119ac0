from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import STOPS_CONTAINER, command, step
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.container_advice import recreate
from doctor.rules.lib.hardware import needed_nodes, refused

RULE = Rule(
    id="container-security-profile",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.REBUILD,
    layer=Layer.CONTAINER,
    title="The container's security profile blocks calls or devices that the GPU needs.",
    needs=({"container.seccomp", "container.capabilities", "gpus"}, {"container.mempolicy"}),
    facts_decide=False,
    proven="synthetic",
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
seccomp, AppArmor, SELinux or a missing capability blocks a call (ptrace, set_mempolicy, move_pages, perf_event_open)
or a device node.

## Why it matters
NUMA calls or debuggers fail with 'Operation not permitted', or opening a node fails under SELinux while its mode
allows it.

## Not raised when
No error message shows it. If the container's seccomp filter blocks the memory policy calls (tried from inside on a
machine of several NUMA nodes, read from the profile with `--in`), that is information: most programs do not bind
memory.

## How to confirm
`ausearch -m avc -ts recent` on the host, or the same container with `--security-opt seccomp=unconfined`.

## Fix
Allow only what the program needs: a capability, an SELinux label, a seccomp profile.

## Fix safety
Each option weakens the container's isolation; use the narrowest.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error text says it: seccomp or SELinux may be the one that refuses."""
    open_all = recreate(
        machine,
        "Recreate the container with SYS_PTRACE and without seccomp, for NUMA calls and debuggers.",
        *("--cap-add=SYS_PTRACE", "--security-opt", "seccomp=unconfined"),
    )
    open_all = open_all.model_copy(update={"risk": f"{STOPS_CONTAINER}; it may then make every system call"})
    selinux = command(
        "Allow containers to use devices in SELinux.",
        Scope.HOST,
        *("setsebool", "-P", "container_use_devices=true"),
        root=True,
        risk="opens devices to every container on this host",
    )
    return open_all, selinux


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A remark: the memory policy calls are closed, by what was tried or read, else on a machine whose GPUs sit on
    several NUMA nodes by the engine's own profile."""
    box = machine.container
    if box.inside and box.mempolicy == "refused":
        yield Finding(
            summary="The container's seccomp profile blocks NUMA binding (numactl, set_mempolicy).",
            severity=Severity.INFO,
            subject=Subject(kind="container", id="mempolicy"),
            evidence=evidence(machine, ("container.mempolicy", "container.seccomp", "container.capabilities")),
            remedies=(_numa(machine) if "SYS_NICE" not in (box.capabilities or ()) else _profile(machine),),
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
        summary="The container's seccomp profile blocks NUMA binding (numactl, set_mempolicy).",
        severity=Severity.INFO,
        subject=Subject(kind="container", id="mempolicy"),
        evidence=evidence(machine, ("container.seccomp", "container.capabilities", "container.engine")),
        remedies=(_numa(machine),),
        verify=("numactl", "--show"),
    )


_WITH_DEFAULT_PROFILE = ("docker", "kubernetes", "containerd")
"""Their default profile opens set_mempolicy, get_mempolicy and mbind with CAP_SYS_NICE alone (github.com/moby/profiles,
seccomp/default.json; containerd/containerd#13610). Podman's lets them through (containers/common, pkg/seccomp)."""


def _numa(machine: Snapshot) -> Remedy:
    return recreate(machine, "Recreate the container with the capability SYS_NICE.", "--cap-add", "SYS_NICE")


def _profile(machine: Snapshot) -> Remedy:
    allow = step("Allow set_mempolicy, get_mempolicy and mbind in the seccomp profile (PROFILE: its path).")
    title = "Recreate the container with a seccomp profile that allows the NUMA calls."
    return recreate(machine, title, "--security-opt", "seccomp=PROFILE", before=allow)


_RECORDS = ("selinux-record", "selinux-denies")
"""The kernel asks SELinux after owner and mode have agreed, so a record of a denial is not about groups."""


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Nothing where owner and mode of a node are seen to keep the account out, and nobody gets in past the profile."""
    recorded = machine.symptom(*_RECORDS) is not None
    if recorded or not any(refused(machine, n) or (n.mode and n.mode & 0o006 != 0o006) for n in needed_nodes(machine)):
        yield Finding(summary=RULE.title, subject=Subject(kind="container", id="profile"), remedies=advice(machine, kb))
