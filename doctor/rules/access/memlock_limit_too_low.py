from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import STOPS_CONTAINER, step, way, writes
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import vendors_there

RULE = Rule(
    id="memlock-limit-too-low",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="The locked-memory limit is too low for RDMA or collectives.",
    needs=({"rdma", "host.memlock_bytes"}, {"host.memlock_bytes"}),
    proven="synthetic",
    order=22,
    facts_decide=False,
    tags=("access", "collectives"),
    doc="""## What it finds
A limit on locked memory for this account, on a machine with RDMA devices; in a container on a GPU machine, a limit
below the kernel's default of 8 MiB.

## Why it matters
Registering buffers fails: "ibv_reg_mr failed: Cannot allocate memory", and NCCL or RCCL stops.

## Not raised when
The limit is unlimited, or 32 GiB or more. Or there is no RDMA device and no container with a low limit. Without an
error message it is information.

## How to confirm
`ulimit -l` in the shell or container that starts the job.

## Fix
Container: `--ulimit memlock=-1`. Host: a file in /etc/security/limits.d, or LimitMEMLOCK=infinity in the unit.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
AMD-AGI/Primus preflight: warns below 32 GiB (2026-08)
""",
)

_ENOUGH_BYTES = 32 << 30
_KERNEL_DEFAULT_BYTES = 8 << 20
"""MLOCK_LIMIT since Linux 5.16; 64 KiB before."""
_CONTAINER = way(
    "Recreate the container without a limit on locked memory.",
    Scope.CONTAINER,
    step("Start it (IMAGE: your image).", "docker", "run", "--ulimit", "memlock=-1", "IMAGE"),
    risk=STOPS_CONTAINER,
)
_HOST = way(
    "Raise the locked-memory limit of login sessions.",
    Scope.HOST,
    writes("/etc/security/limits.d/rdma.conf", "* soft memlock unlimited", "* hard memlock unlimited"),
    step("Log in again. For a systemd service, set LimitMEMLOCK=infinity in its unit instead."),
    root=True,
    undo=(step("Remove the file.", "rm", "/etc/security/limits.d/rdma.conf"),),
)
REMEDIES = (_CONTAINER, _HOST)
_REFUSED = ("rdma-registration-refused", "buffer-not-allocated-as-mr")
"""What verbs say where memory can't be locked."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Information only, unless a text shows a very small limit beside memory that verbs do not register."""
    limit = machine.host.memlock_bytes
    text = run_line.from_text(machine, "host.memlock_bytes")
    if limit is None or limit < 0 or limit >= _ENOUGH_BYTES:
        return
    tight = machine.container.inside and limit < _KERNEL_DEFAULT_BYTES and vendors_there(machine)
    if not (machine.rdma or text or tight):
        return
    on = " for this machine's RDMA devices" if machine.rdma else " for RDMA"
    refused = machine.symptom(*_REFUSED) if text and limit <= _KERNEL_DEFAULT_BYTES else None
    yield Finding(
        summary=f"The locked-memory limit ({limit >> 10} KiB) is {'too low' if refused else 'low'}{on}.",
        severity=Severity.WARNING if refused else Severity.INFO,
        basis="both" if refused else "facts",
        suspect=2 if text else 0,
        explains=("gpudirect-rdma-missing",) if refused else (),
        subject=Subject(kind="limit", id="memlock"),
        evidence=evidence(machine, ("host.memlock_bytes", *([f"symptom:{refused.key}"] if refused else []))),
        remedies=(_CONTAINER if machine.container.inside else _HOST,),
    )
