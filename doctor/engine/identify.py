"""A GPU's name and architecture from the catalogue by its PCI id, if the machine itself does not report them.

A GPU without a loaded driver has no name and no architecture of its own. What comes from the catalogue is marked in
the origins, and never replaces what the machine reported.
"""

from __future__ import annotations

from typing import Any

from doctor.facts import Origin, Snapshot, State
from doctor.facts.gpu import Gpu
from doctor.knowledge import Knowledge


def identify(machine: Snapshot, kb: Knowledge) -> Snapshot:
    """The same machine, its GPUs named."""
    gpus, origins = [], dict(machine.origins)
    for gpu in machine.gpus or ():
        known = {field: value for field, value in _told(gpu, kb).items() if value and getattr(gpu, field) is None}
        for field in known:
            origins[f"gpus[{gpu.key}].{field}"] = Origin(state=State.VALUE, source=f"catalogue:{gpu.pci_id}")
        gpus.append(gpu.model_copy(update=known) if known else gpu)
    return machine.model_copy(update={"gpus": tuple(gpus), "origins": origins}) if gpus else machine


def _told(gpu: Gpu, kb: Knowledge) -> dict[str, Any]:
    if gpu.vendor == "amd" and gpu.pci_id:
        product = kb.amd_gpu(gpu.pci_id, gpu.revision)
        shared = any(p.virtual_function and p.id == gpu.pci_id for p in (product.pci if product else ()))
        name = product.names[0] if product else None
        return {"name": name, "arch": kb.amd_arch(gpu.pci_id), "virtual_function": shared or None}
    if gpu.vendor == "nvidia" and gpu.pci_id:
        known = kb.nvidia_gpu(gpu.pci_id)
        return {"name": known.name, "arch": known.arch} if known else {}
    return {}
