from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, unset, way
from doctor.rules.lib.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="collective-flag-misconfigured",
    severity=Severity.ERROR,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="An NCCL or RCCL setting names the wrong interface or disables a needed path.",
    needs=({"environment"},),
    proven="synthetic",
    order=50,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_NET_PLUGIN or NCCL_P2P_DISABLE does not fit this machine.

## Why it matters
Ranks hang or fail at start ('no socket interface found'), or traffic takes a slow path.

## Not raised when
The flag names one interface that works, excludes some while NCCL finds one, or only controls logs. A rank failed with
its own error and left the others, which no flag fixes. A disabled path is information without an error of the
collective library: it may be intended.

## How to confirm
Run with NCCL_DEBUG=INFO and read which interface and transport NCCL chose.

## Fix
Unset the flags, then set only what the log shows you need.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
""",
)

REMEDIES = (
    way(
        "Unset the NCCL or RCCL variable that the message names (NCCL_VARIABLE).",
        Scope.JOB,
        step("Start the program (COMMAND) without it; NCCL then chooses by itself and prints its choice.",
             *("env", "-u", "NCCL_VARIABLE", "NCCL_DEBUG=INFO", "COMMAND"), where="environment"),
        step("If it works, remove it from the shell profile, service unit or job script.", where="environment"),
        undo=(step("Set it again.", where="environment"),),
    ),
)  # fmt: skip


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a variable: a value that its reader can't take, and paths that are turned off."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    for name, value in (machine.environment or {}).items():
        fault = _fault(machine, name, value.strip())
        if fault is None:
            continue
        severity, why, strength = fault
        yield Finding(
            summary=f"{name}={value[:40]}: {why}.",
            severity=severity,
            suspect=strength,
            subject=Subject(kind="variable", id=name),
            evidence=(Evidence(text=f"{name}={value[:80]}", source=machine.source(f"environment[{name}]")),),
            remedies=(unset(machine, name),),
        )


_OFF = {
    "NCCL_IB_DISABLE": "it disables InfiniBand and RoCE",
    "NCCL_P2P_DISABLE": "it disables direct copies between GPUs",
    "NCCL_SHM_DISABLE": "it disables copies through shared memory",
    "NCCL_NET_GDR_LEVEL": "it disables GPUDirect RDMA",
}
_OFF_VALUES = {"NCCL_NET_GDR_LEVEL": ("0", "LOC")}
_FAR = ("PHB", "SYS", "3", "4", "5")
"""Farther than PXB, the default (docs.nvidia.com NCCL user guide, NCCL_NET_GDR_LEVEL)."""
_NUMBERS = Lazy(r"NCCL_(?:IB|P2P|SHM|NVLS|NET|CUMEM|COLLNET)_(?:DISABLE|ENABLE|TIMEOUT|GID_INDEX|TC|SL|RETRY_CNT)$")
_FAILS = (
    *("nccl-no-socket", "gloo-interface", "nccl-ib-gid", "nccl-ib-completion", "nccl-net-plugin", "nccl-system-error"),
    *("nccl-connect-failed", "nccl-no-ib-device"),
)


def _fault(machine: Snapshot, name: str, value: str) -> tuple[Severity, str, int] | None:
    fails = machine.symptom(*_FAILS) is not None
    if name == "GLOO_SOCKET_IFNAME" and value.startswith("^"):
        return Severity.ERROR, "Gloo needs one interface name and does not accept an exclusion list", 0
    if name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") and value.split(",")[0].lstrip("=") == "lo":
        return (Severity.WARNING if fails else Severity.INFO), "the loopback interface does not reach other nodes", 3
    if name == "NCCL_SOCKET_IFNAME" and value.startswith("^") and "lo" not in value.lstrip("^").split(","):
        return (Severity.WARNING if fails else Severity.INFO), "the list does not exclude lo, so NCCL may use it", 3
    if name.endswith("_SOCKET_IFNAME") and _INNER.match(value.lstrip("=")):
        return (
            (Severity.WARNING if fails else Severity.INFO),
            "a container or VM interface does not reach other nodes",
            3,
        )
    if name == "NCCL_SOCKET_IFNAME" and _absent(machine, value):
        return Severity.WARNING, "no listed interface has a name that starts like this", 0
    if name in _OFF and value in _OFF_VALUES.get(name, ("1",)):
        return Severity.INFO, _OFF[name], 3
    if name == "NCCL_NET_GDR_LEVEL" and value.upper() in _FAR and machine.symptom("collective-hangs"):
        return Severity.INFO, "it forces GPUDirect RDMA on paths that NCCL avoids", 3
    if name == "NCCL_IB_TIMEOUT" and value.isdigit() and int(value[:6]) > _LONGEST_TIMEOUT:
        return Severity.WARNING, "with 32 or more, the timeout never ends", 0
    if name == "NCCL_IB_TIMEOUT" and value.isdigit() and int(value[:6]) < _SHORTEST_TIMEOUT:
        return Severity.INFO, "the timeout is far below the default of 20", 3
    if name in ("NCCL_BUFFSIZE", "NCCL_BUFFSIZE_LL128") and value.isdigit() and int(value[:18]) > _LARGEST_BUFFER:
        size = int(value[:18]) >> 20
        severity = Severity.WARNING if fails or machine.symptom(*_LIMITS, *_FULL) else Severity.INFO
        return severity, f"each channel and peer gets a {size} MiB buffer; the default is 4 MiB", 3
    if name == "UCX_TLS" and (lacks := _gpu_memory_left_out(machine, value)):
        return (Severity.WARNING if machine.symptom(*_CRASHES) else Severity.INFO), lacks, 3
    if _NUMBERS.match(name) and not re.fullmatch(r"-?\d{1,9}", value):
        return Severity.INFO, "NCCL expects a number and reads a word as 0", 3
    if name == "NCCL_IB_GID_INDEX" and not machine.symptom(*_FAILS[:-1]):
        return None  # an index is used on a device that was found
    if name in _NAMED and value.startswith("^") and not machine.symptom(*_NONE_LEFT):
        return None  # a list of what is left out names nothing that must be there
    if name in _NAMED and fails and not machine.symptom(*_LIBRARY, *_LIMITS):
        return Severity.WARNING, "NCCL is set to use it and fails to", 0
    return None


def _absent(machine: Snapshot, value: str) -> bool:
    """Whether a pasted list of all interfaces has none that the value names: NCCL takes prefixes, and whole names after
    `=`. Of a live machine the lint of variables says it."""
    there = machine.host.interfaces
    if there is None or not run_line.from_text(machine, "host.interfaces") or not value or value.startswith("^"):
        return False
    exact = value.startswith("=")
    names = [name for part in value.lstrip("=").split(",") if (name := part.partition(":")[0].strip())]
    return not any(i == n if exact else i.startswith(n) for n in names for i in there)


def _gpu_memory_left_out(machine: Snapshot, value: str) -> str:
    """A list of UCX's transports must name those that tell GPU memory from the host's (openucx/ucx docs/source/faq.md:
    "When specifying UCX_TLS explicitly, must also specify cuda/rocm for GPU memory")."""
    named = {word.strip().lower() for word in value.split(",")}
    if value.startswith("^") or not named - {""} or named & {"all", "cuda", "cuda_copy", "rocm", "rocm_copy"}:
        return ""
    for vendor, part in (("nvidia", "cuda"), ("amd", "rocm")):
        if machine.of_vendor(vendor) or named & _NEEDS_COPY[part]:
            return f"a list for GPU memory must include {part} or {part}_copy"
    return "a list for GPU memory must include cuda or rocm"


_NEEDS_COPY = {"cuda": {"cuda_ipc", "gdr_copy"}, "rocm": {"rocm_ipc", "rocm_gdr"}}
_CRASHES = ("program-crashed",)
_NAMED = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_SOCKET_IFNAME")
_NONE_LEFT = ("nccl-no-socket", "nccl-no-ib-device")
_LIBRARY = ("nccl-without-ibverbs",)
"""NCCL finds no device of any name where it has no libibverbs."""
_LIMITS = (
    "too-many-open-files",
    "memlock-rdma",
    "ibv-no-memory",
    "ibv-queue-pair-no-memory",
    "ibv-reg-fails",
    "shm-nccl",
    "nccl-shm-open",
)
"""A limit of the process or the container fails before any name is used."""
_INNER = Lazy(r"docker\d|br-[0-9a-f]{6}|virbr\d|veth\w|lxcbr\d|lxdbr\d|cni\d|podman\d")
_LARGEST_BUFFER = 64 << 20
"""Bytes; the manual of NCCL calls a power of two near the default of 4 MiB good."""
_FULL = (
    "cuda-out-of-memory",
    "hip-out-of-memory",
)
_LONGEST_TIMEOUT = 31
_SHORTEST_TIMEOUT = 12
"""4.096 µs × 2^n: 12 is 17 ms (docs.nvidia.com NCCL user guide, NCCL_IB_TIMEOUT)."""
