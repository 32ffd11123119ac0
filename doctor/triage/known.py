"""What the catalogue adds to GPUs that a text names: vendor and architecture of a name or a PCI id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from doctor.facts.sheet import FactSheet
from doctor.knowledge import Knowledge
from doctor.knowledge.names import gpu_by_name

_NAME = re.compile(r"gpus\[([^\]]*)\]\.(name|arch|vendor|pci_id)$")
_KB = Knowledge()


def complete(facts: dict[str, Any]) -> None:
    """Add vendor and arch where name or PCI id tell them. A vendor that contradicts the name keeps the name unused."""
    pci_id, name = str(facts.get("pci_id", "")), str(facts.get("name", ""))
    arch = vendor = None
    if pci_id.startswith("1002:"):
        vendor, arch = "amd", _KB.amd_arch(pci_id)
    elif pci_id.startswith("10de:"):
        found = _KB.nvidia_gpu(pci_id)
        vendor, arch = "nvidia", found.arch if found else None
    if arch is None and name and (named := gpu_by_name(name)) and facts.get("vendor", named.vendor) == named.vendor:
        vendor, arch = named
    if vendor and facts.get("vendor", vendor) == vendor:
        facts["vendor"] = vendor
        if arch:
            facts.setdefault("arch", arch)


def learnt(sheets: Iterable[FactSheet]) -> FactSheet:
    """A sheet of what `complete` adds, with the source of the name or id that it was learnt from."""
    gpus: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    for sheet in sheets:
        for entry in sheet:
            if entry.name.startswith("gpus[") and entry.value is not None and (found := _NAME.match(entry.name)):
                gpus.setdefault(found[1], {}).setdefault(found[2], entry.value)
                if found[2] in ("pci_id", "name"):
                    sources.setdefault(found[1], entry.source)
    added = FactSheet()
    for key, facts in gpus.items():
        before = dict(facts)
        complete(facts)
        for name in ("vendor", "arch"):
            if name in facts and name not in before:
                added.put(f"gpus[{key}].{name}", facts[name], sources[key], "known of that GPU")
    return added
