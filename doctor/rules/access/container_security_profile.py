"""A security profile of the container blocks what the GPU stack needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.findings import Finding, Fix, Rule, Severity, Subject
from doctor.rules.hardware import needed_nodes, refused

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-security-profile",
    severity=Severity.ERROR,
    title="A security profile of the container blocks what the GPU stack needs.",
    needs=(),
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
No error text of it was seen: facts of a running machine do not decide this one yet.

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
    """Raised from error texts only."""
    yield from ()


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Nothing where owner and mode of a node are seen to keep the account out."""
    if not any(refused(machine, n) or (n.mode and n.mode & 0o006 != 0o006) for n in needed_nodes(machine)):
        yield Finding(summary=RULE.title, subject=Subject(kind="container", id="profile"), fixes=FIXES)
