"""An NCCL or RCCL flag names the wrong interface or turns off a needed path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules import run_line
from doctor.rules.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="collective-flag-misconfigured",
    severity=Severity.ERROR,
    title="An NCCL or RCCL flag names the wrong interface or turns off a needed path.",
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
The flag names one interface that fits, lists what is left out while an interface is found, or only makes logs; a rank
raised an error of its own and left the others, which no flag mends. A path
that is turned off is information where no error of the collective library was seen: it may be meant.

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
    """One finding a variable: a value that its reader can't take, and paths that are turned off."""
    yield from evaluated(machine, RULE.id, _own(machine, kb))


def unheard(machine: Snapshot) -> bool:
    """Lines of an NCCL that comes up, or of a NIXL whose UCX does, where nobody says that anything fails, stands still
    or is slow; variables of NCCL that are listed there; and more devices asked for than there are, which stops a
    program before any collective, as a rank does that raised an error of its own. Where the one thing set is which
    interfaces are left out, and that is right."""
    if machine.symptom("invalid-device-ordinal", "rank-raised-told"):
        return True
    if _only_leaves_out(machine) or _store_unreached(machine):
        return True
    works = machine.symptom("nccl-goes-on-with-sockets", "nixl-backend-up-told")
    complaint = machine.symptom("said-slow", "hang-word-told", "stands-still-told", *_FAILS, *_OF_NIXL)
    # as clusters set them for every job
    listed = machine.symptom("launcher-lists-nccl-told") is not None
    listed = listed or any(n.startswith("NCCL_") and not n.startswith("NCCL_DEBUG") for n in machine.environment or {})
    return (works is not None or listed) and complaint is None and not run_line.complained_of(machine)


def _store_unreached(machine: Snapshot) -> bool:
    """Whether ranks do not reach torch's own store, before any collective, and no flag of an interface is in sight."""
    told = machine.symptom("c10d-socket-unreachable") is not None
    return told and machine.symptom("interface-flag-told", *_FAILS) is None


def _only_leaves_out(machine: Snapshot) -> bool:
    env = machine.environment or {}
    steers = {n: env[n].strip() for n in env if n.startswith(_FAMILIES) and not n.startswith("NCCL_DEBUG")}
    leaves_out = all(
        n.endswith("_IFNAME") and v.startswith("^") and not _fault(machine, n, v) for n, v in steers.items()
    )
    return bool(steers) and leaves_out and not machine.symptom(*_NONE_LEFT)


_FAMILIES = ("NCCL_", "RCCL_", "GLOO_", "TORCH_NCCL_")


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
            fixes=(Fix(text=f"Start without {name}.", command=("env", "-u", name, "COMMAND"), where="environment"),),
        )


_OFF = {
    "NCCL_IB_DISABLE": "InfiniBand and RoCE are turned off",
    "NCCL_P2P_DISABLE": "direct copies between GPUs are turned off",
    "NCCL_SHM_DISABLE": "copies through shared memory are turned off",
    "NCCL_NET_GDR_LEVEL": "GPUDirect RDMA is turned off",
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
        return Severity.ERROR, "Gloo takes the name of one interface, and no list to leave out", 0
    if name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") and value.split(",")[0].lstrip("=") == "lo":
        return (Severity.WARNING if fails else Severity.INFO), "the loopback interface reaches no other node", 3
    if name == "NCCL_SOCKET_IFNAME" and value.startswith("^") and "lo" not in value.lstrip("^").split(","):
        return (Severity.WARNING if fails else Severity.INFO), "without lo in the list, NCCL may take the loopback", 3
    if name.endswith("_SOCKET_IFNAME") and _INNER.match(value.lstrip("=")):
        return (Severity.WARNING if fails else Severity.INFO), "an interface of containers or VMs reaches no node", 3
    if name == "NCCL_SOCKET_IFNAME" and _absent(machine, value):
        return Severity.WARNING, "no interface of the list that is shown begins so", 0
    if name == "NCCL_SOCKET_IFNAME" and _others_told(machine, value):
        wrong = fails or run_line.complained_of(machine) or machine.symptom(*_STOPS) is not None
        return (Severity.WARNING if wrong else Severity.INFO), "the interfaces that the text names begin otherwise", 0
    if name in _OFF and value in _OFF_VALUES.get(name, ("1",)):
        return Severity.INFO, _OFF[name], 0 if _comes_up(machine) or _of_the_program(machine) else 3
    if name == "NCCL_NET_GDR_LEVEL" and value.upper() in _FAR and machine.symptom("collective-hangs"):
        return Severity.INFO, "GPUDirect RDMA is asked for on paths that NCCL leaves out by itself", 3
    if name == "NCCL_IB_TIMEOUT" and value.isdigit() and int(value[:6]) > _LONGEST_TIMEOUT:
        return Severity.WARNING, "from 32 on the timeout never ends", 0
    if name == "NCCL_IB_TIMEOUT" and value.isdigit() and int(value[:6]) < _SHORTEST_TIMEOUT:
        return Severity.INFO, "the timeout is far below the default of 20", 3
    if name in ("NCCL_BUFFSIZE", "NCCL_BUFFSIZE_LL128") and value.isdigit() and int(value[:18]) > _LARGEST_BUFFER:
        size = int(value[:18]) >> 20
        severity = Severity.WARNING if fails or machine.symptom(*_LIMITS, *_FULL) else Severity.INFO
        return severity, f"a buffer of {size} MiB for each channel and peer, where 4 MiB are the default", 3
    if name == "UCX_TLS" and (lacks := _gpu_memory_left_out(machine, value)):
        return (Severity.WARNING if machine.symptom(*_CRASHES) else Severity.INFO), lacks, 3
    if _NUMBERS.match(name) and not re.fullmatch(r"-?\d{1,9}", value):
        return Severity.INFO, "NCCL reads a number here, and a word as 0", 3
    if name == "NCCL_IB_GID_INDEX" and not machine.symptom(*_FAILS[:-1]):
        return None  # an index is used on a device that was found
    if name == "NCCL_SOCKET_IFNAME" and _taken(machine, value):
        return None
    if name in _NAMED and value.startswith("^") and not machine.symptom(*_NONE_LEFT):
        return None  # a list of what is left out names nothing that must be there
    if name in _NAMED and fails and not machine.symptom(*_LIBRARY, *_LIMITS, "rank-raised-told"):
        return Severity.WARNING, "it names what NCCL uses, and NCCL fails to use it", 0
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


def _others_told(machine: Snapshot, value: str) -> bool:
    """Whether a person names the interfaces that the nodes have, or says that they are joined by radio, and the value
    begins none of them. A list of what is left out takes all others."""
    told = [s.text for s in machine.symptoms if s.key == "interfaces-named-told"]
    if not told or not value or value.startswith("^"):
        return False
    there = {found[0].lower() for text in told for found in _NAME_TOLD.finditer(text)}
    there |= {"wl" for text in told if _RADIO.search(text)}
    names = [name for part in value.lstrip("=").split(",") if (name := part.partition(":")[0].strip().lower())]
    return bool(there) and not any(i.startswith(n) for n in names for i in there)


_NAME_TOLD = Lazy(
    r"\b(?:en[ospx]\w{1,14}|eth\d{1,2}|ib(?:\d|[ops]\w{1,12})|bond\d|hsn\d|wl(?:an\d|[opx]\w{1,14})|wl)\b", re.I
)
_RADIO = Lazy(r"\b(?:wireless|wi-?fi)\b", re.IGNORECASE)
_STOPS = ("collective-hangs", "hang-word-told", "stands-still-told", "cublas-or-cudnn-call-failed")
"""The last reads NCCL's errors, too."""


def _taken(machine: Snapshot, value: str) -> bool:
    """Whether NCCL's log shows that it took an interface of that name, and nothing fails on a socket: what it says of
    InfiniBand is not about the name of an interface."""
    told = machine.symptom("nccl-interface-told")
    found = _INTERFACE.search(told.text) if told else None
    if found is None or machine.symptom(*_ON_SOCKETS) is not None:
        return False
    exact, names = value.startswith("="), value.lstrip("=").split(",")
    return any(found[1] == n if exact else n and found[1].startswith(n) for n in (n.partition(":")[0] for n in names))


_INTERFACE = Lazy(r"(?:Bootstrap ?: ?Using |NET/Socket ?: ?Using \[0\]|; OOB )([\w.-]{1,15}):")
_ON_SOCKETS = (
    *("nccl-no-socket", "gloo-interface", "nccl-system-error", "nccl-connect-failed", "nccl-net-plugin"),
    "machine-of-several-nodes-told",
)
"""The last is no failure: between nodes an interface that is there may reach none of the others."""
_OF_NIXL = ("nixl-transfer-fails-told",)


def _comes_up(machine: Snapshot) -> bool:
    """Whether NCCL's log shows that it connected all GPUs, and nobody says that it is slow, hangs or fails: a path that
    is turned off was replaced by another."""
    complaint = machine.symptom("said-slow", "hang-word-told", "stands-still-told", "collective-hangs", *_FAILS)
    return machine.symptom("nccl-connected-told") is not None and complaint is None


def _of_the_program(machine: Snapshot) -> bool:
    """Whether a program ends at an error of its own Python code, and nobody says that a collective fails, hangs or is
    slow: cluster images and users of consumer cards turn paths off for good."""
    own = machine.symptom(*_OWN_END) is not None
    complaint = machine.symptom("said-slow", "hang-word-told", "stands-still-told", "collective-hangs", *_FAILS)
    return own and complaint is None


_OWN_END = ("nothing-is-called-for-a-kernel",)


def _gpu_memory_left_out(machine: Snapshot, value: str) -> str:
    """A list of UCX's transports must name those that tell GPU memory from the host's (openucx/ucx docs/source/faq.md:
    "When specifying UCX_TLS explicitly, must also specify cuda/rocm for GPU memory")."""
    named = {word.strip().lower() for word in value.split(",")}
    if value.startswith("^") or not named - {""} or named & {"all", "cuda", "cuda_copy", "rocm", "rocm_copy"}:
        return ""
    for vendor, part in (("nvidia", "cuda"), ("amd", "rocm")):
        if machine.of_vendor(vendor) or named & _NEEDS_COPY[part]:
            return f"a list for GPU memory must name {part} or {part}_copy too"
    return "a list for GPU memory must name cuda or rocm too"


_NEEDS_COPY = {"cuda": {"cuda_ipc", "gdr_copy"}, "rocm": {"rocm_ipc", "rocm_gdr"}}
_CRASHES = ("program-crashed", "ucx-transport-missing-told")
_NAMED = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_SOCKET_IFNAME")
_NONE_LEFT = ("nccl-no-socket", "nccl-no-ib-device")
_LIBRARY = ("nccl-without-ibverbs", "loader-cache-lacks-system-library")
"""NCCL finds no device of any name where it has no libibverbs."""
_LIMITS = ("too-many-open-files", "memlock-rdma", "ibv-no-memory", "shm-nccl", "nccl-shm-open")
"""A limit of the process or the container fails before any name is used."""
_INNER = Lazy(r"docker\d|br-[0-9a-f]{6}|virbr\d|veth\w|lxcbr\d|lxdbr\d|cni\d|podman\d")
_LARGEST_BUFFER = 64 << 20
"""Bytes; the manual of NCCL calls a power of two near the default of 4 MiB good."""
_FULL = ("cuda-out-of-memory", "gpu-out-of-memory-told")
_LONGEST_TIMEOUT = 31
_SHORTEST_TIMEOUT = 12
"""4.096 µs × 2^n: 12 is 17 ms (docs.nvidia.com NCCL user guide, NCCL_IB_TIMEOUT)."""
