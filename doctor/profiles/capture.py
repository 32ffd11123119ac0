"""A machine's facts -> a profile of it, as TOML: what this golden node is, for other nodes to be held against.

Kept: versions, modes and settings of the stack. Left out: names, serial numbers, counters, and what differs between the
GPUs of the node. What was not known stands as a comment, so that nobody takes it for checked.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doctor.errors import InputError
from doctor.facts import Snapshot
from doctor.profiles.facts import kind_of
from doctor.profiles.model import considered

_NODE: tuple[tuple[str, str, str | None], ...] = (
    ("os.id", "The distribution of the captured node.", None),
    ("os.version", "Its release.", None),
    ("kernel.release", "Its kernel.", None),
    ("kernel.secure_boot", "How it was booted.", None),
    ("host.machine", "Its architecture.", None),
    ("host.virtual_machine", "Bare metal or a guest.", None),
    ("host.iommu", "How its IOMMU was set.", "iommu-not-passthrough"),
    ("host.numa_balancing", "Whether its kernel moved pages by itself.", "numa-balancing-enabled"),
    ("host.cpu_governor", "How its CPUs were clocked.", "cpu-governor-powersave"),
    ("amdgpu_driver.loaded", "Its kernel driver.", "amdgpu-driver-not-loaded"),
    ("amdgpu_driver.source", "Where that driver came from.", None),
    ("amdgpu_driver.version", "The module's number.", None),
    ("nvidia_driver.loaded", "Its kernel driver.", "nvidia-driver-not-loaded"),
    ("nvidia_driver.version", "That driver's version.", None),
    ("nvidia_driver.flavour", "Open or proprietary modules.", None),
    ("nvidia_driver.fabric_manager.version", "It has to be the driver's own version.", None),
    ("torch.build", "What its torch was built for.", None),
    ("torch.version", "Its torch.", None),
    ("torch.cuda", "The CUDA of its torch.", None),
    ("torch.rocm", "The ROCm of its torch.", None),
    ("interpreter.version", "Its Python.", None),
)
_EACH_GPU: tuple[tuple[str, str], ...] = (
    ("driver", "The module that owned its GPUs."),
    ("memory_bytes", "The memory of one of its GPUs."),
    ("vbios", "The firmware of its boards."),
    ("firmware_bundle", "The firmware bundle of its GPUs."),
    ("performance_level", "The clock policy of its GPUs."),
    ("compute_partition", "How its GPUs were partitioned."),
    ("memory_partition", "How their memory was."),
    ("mig_mode", "Whether MIG was on."),
    ("persistence_mode", "Whether the driver stayed loaded between jobs."),
    ("compute_mode", "Who may use a GPU at a time."),
    ("fabric_state", "The state of its NVLink fabric."),
    ("link.max_speed_gt_s", "The PCIe speed of its slots."),
    ("link.max_width", "The PCIe width of its slots."),
    ("errors.ecc_enabled", "Whether ECC was on."),
    ("sensors.power_limit_w", "The power limit of its GPUs."),
    ("sensors.sm_clock_max_mhz", "The highest clock of its GPUs."),
)


@dataclass(frozen=True)
class Captured:
    """The text of the profile, and the facts that it could not hold because they are not known."""

    toml: str
    unknown: tuple[str, ...]


def capture(machine: Snapshot, name: str, today: datetime.date, about: str | None = None) -> Captured:
    """A profile of status `captured`. Raises InputError where the machine has no GPU that is known."""
    gpus = considered(machine)
    vendors = {g.vendor for g in gpus}
    if len(vendors) != 1:
        raise InputError(
            "found no AMD or NVIDIA GPU here; capture a profile on a node with GPUs"
            if not gpus
            else "GPUs of two vendors are here; a profile is for one"
        )
    vendor = next(iter(vendors))
    about = about or f"Captured from a node with {len(gpus)} {gpus[0].name or gpus[0].pci_id or 'GPUs'}"
    rows, unknown = _rows(machine, vendor or "")
    if not rows:
        raise InputError("nothing but its GPUs is known of this machine; there is nothing to hold other nodes against")
    lines = [
        "schema = 1",
        f"name = {_quoted(name)}",
        f"about = {_quoted(about)}",
        'status = "captured"',
        "",
        "[hardware]",
        f"vendor = {_quoted(vendor or '')}",
        *_listed("arch", [g.arch for g in gpus]),
        *_listed("pci_ids", [g.pci_id for g in gpus]),
        f"count = {len(gpus)}",
    ]
    for fact, value, why, rule in rows:
        lines += ["", "[[expect]]", f"fact = {_quoted(fact)}", *([f"rule = {_quoted(rule)}"] if rule else [])]
        lines += ['severity = "warning"', f"equals = {_quoted(value)}", f"why = {_quoted(why)}"]
        lines.append(f'source = {{ url = "doctor profiles capture", as_of = {today}, status = "captured" }}')
    if unknown:
        lines += ["", "# Not known on the captured node, so not expected of others:"]
        lines += [f"# {fact}" for fact in unknown]
    return Captured("\n".join(lines) + "\n", tuple(unknown))


def _rows(machine: Snapshot, vendor: str) -> tuple[list[tuple[str, Any, str, str | None]], list[str]]:
    rows: list[tuple[str, Any, str, str | None]] = []
    unknown: list[str] = []
    other = {"amd": "nvidia_driver.", "nvidia": "amdgpu_driver."}[vendor]
    for fact, why, rule in _NODE:
        value = machine.get(fact)
        if value is not None and not fact.startswith(other):
            rows.append((fact, value, why, rule))
        elif value is None and _belongs(fact, machine, vendor):
            unknown.append(fact)
    gpus = considered(machine)
    for word, why in _EACH_GPU:
        values = {_plain(machine.get(f"gpus[{g.key}].{word}")) for g in gpus}
        if len(values) == 1 and None not in values and kind_of(f"gpus[*].{word}"):
            rows.append((f"gpus[*].{word}", machine.get(f"gpus[{gpus[0].key}].{word}"), why, None))
    versions = {i.version for i in machine.rocm or () if i.version}
    if len(versions) == 1:
        rows.append(("rocm[*].version", versions.pop(), "The ROCm user space of the node.", None))
    return rows, unknown


def _belongs(fact: str, machine: Snapshot, vendor: str) -> bool:
    """Whether the fact is one that a node of this vendor has: an in-tree driver has no number, a CUDA torch no ROCm."""
    if fact in ("torch.cuda", "torch.rocm", "nvidia_driver.fabric_manager.version"):
        return False
    if fact == "amdgpu_driver.version" and machine.amdgpu_driver.source == "in-tree":
        return False
    return not fact.startswith({"amd": "nvidia_driver.", "nvidia": "amdgpu_driver."}[vendor])


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else None


def _listed(key: str, values: list[str | None]) -> Iterator[str]:
    known = sorted({v for v in values if v})
    if known:
        yield f"{key} = [{', '.join(map(_quoted, known))}]"


def _quoted(value: Any) -> str:
    """A TOML value. JSON's strings are TOML's basic strings."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value).lower()
