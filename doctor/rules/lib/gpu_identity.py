"""Whether a list of GPUs names GPUs that are here, by what is theirs alone: UUID, unique id, PCI address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Scope, Severity, Subject
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, way

_UUID = re.compile(r"(GPU|MIG)-[0-9a-f-]{4,40}", re.IGNORECASE)
_PCI = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_KIND = re.compile(r"^(?:nvidia|amd)\.com/gpu=")
"""Before a device's name in a list of CDI devices."""
_RANGE = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?")


def of_slurm(machine: Snapshot, env: Mapping[str, str]) -> Iterator[Finding]:
    """Slurm gave the job a GPU by a number that no GPU here has: its configuration lists more than the node has."""
    for name in ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"):
        if run_line.from_text(machine, f"environment[{name}]"):
            continue
        if (number := _beyond(machine, env.get(name, ""))) is not None:
            yield Finding(
                summary=f"Slurm gave this job GPU {number}, but this machine has {len(machine.gpus or ())}.",
                severity=Severity.WARNING,
                subject=Subject(kind="variable", id=name),
                evidence=(Evidence(text=f"{name}={env[name][:80]}", source=machine.source(f"environment[{name}]")),),
                remedies=(_GRES,),
                verify=("scontrol", "show", "node"),
            )
            return


_GRES = way(
    "Update Slurm's list of this node's GPUs.",
    Scope.HOST,
    step("Compare gres.conf with the GPUs that the driver lists; a missing GPU may have failed.", "slurmd", "-G"),
    step("Correct gres.conf or replace the GPU, then restart slurmd."),
    root=True,
    restarts=("slurmd",),
)


def _beyond(machine: Snapshot, listed: str) -> int | None:
    """The highest number of a list (`0,2-3`) where there is no GPU of that number: Slurm counts all GPUs of a node.
    None where there is, where parts of GPUs are counted, or where the GPUs are not known."""
    gpus = machine.gpus
    found = [_RANGE.fullmatch(word.strip()) for word in listed.split(",")[:64]]
    numbers = [int(match[2] or match[1]) for match in found if match]
    if not gpus or not numbers or len(numbers) < len(found) or max(numbers) < len(gpus):
        return None
    parted = any(gpu.partitions or gpu.mig_mode == "enabled" for gpu in gpus)
    return None if parted else max(numbers)


def strangers(machine: Snapshot, vendor: str, listed: str) -> list[str]:
    """The names in the list that no GPU of the vendor has. () where not every GPU's own name is known; a UUID may be
    cut, as CUDA takes it."""
    gpus = machine.of_vendor(vendor)
    if not gpus:
        return []
    unique = {n.pci_address: n.unique_id for n in machine.kfd.nodes or () if n.unique_id}
    uuids = [_plain(gpu.uuid or unique.get(gpu.pci_address) or "") for gpu in gpus]
    parts = [_plain(part.uuid or "") for gpu in gpus for part in gpu.partitions or ()]
    places = [(gpu.pci_address or "").lower() for gpu in gpus]
    wrong = []
    for name in (_KIND.sub("", word.strip()) for word in listed.split(",")[:64]):
        uuid = _UUID.fullmatch(name)
        mig = uuid is not None and uuid[1].upper() == "MIG"
        known = parts if mig else uuids
        no_mig = mig and all(gpu.mig_mode == "disabled" for gpu in gpus)
        no_uuid = uuid and known and all(known) and not any(k.startswith(_plain(name)) for k in known)
        no_place = _PCI.fullmatch(name) and all(places) and not any(_same_place(name, place) for place in places)
        if no_mig or no_uuid or no_place:
            wrong.append(name)
    return wrong


def _plain(name: str) -> str:
    return re.sub(r"^(?:gpu|mig)-|^0x", "", name.lower())


def _same_place(name: str, place: str) -> bool:
    short = name.lower().split(":")[-2:]
    domain = name.lower().split(":")[0] if name.count(":") > 1 else ""
    ours = place.split(":")
    return short == ours[-2:] and (not domain or int(domain, 16) == int(ours[0], 16))
