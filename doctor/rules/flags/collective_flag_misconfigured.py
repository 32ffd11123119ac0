"""An NCCL or RCCL flag names the wrong interface or turns off a needed path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="collective-flag-misconfigured",
    severity=Severity.ERROR,
    title="An NCCL or RCCL flag names the wrong interface or turns off a needed path.",
    needs=(),
    proven="synthetic",
    order=50,
    tags=("flags",),
    doc="""## What it finds
NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_NET_PLUGIN or NCCL_P2P_DISABLE does not fit this machine.

## Why it matters
Ranks hang or fail at start ('no socket interface found'), or traffic takes a slow path.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Run with NCCL_DEBUG=INFO and read which interface and transport NCCL took.

## Fix
Unset the flags, then set only what the log shows is needed.

## Fix safety
Applies to programs started afterwards.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
""",
)

FIXES = (
    Fix(text="Unset the flag that the message names, and let NCCL choose.", where="environment"),
    Fix(text="See what it chooses with NCCL_DEBUG=INFO.", where="environment"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
