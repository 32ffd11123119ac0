"""Small phrases that renderers share: text made safe, counts, and the machine's GPUs in one line."""

from __future__ import annotations

import unicodedata
from collections import Counter

from doctor.facts import Snapshot
from doctor.findings import Report

_LONGEST = 2000
_UNSAFE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


def clean(text: str) -> str:
    """One line without control, format (bidirectional marks, zero width) and line characters; those become `?` or a
    space. At most 2000 characters."""
    text = text[:_LONGEST].replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    if text.isprintable():
        return text
    return "".join("?" if unicodedata.category(c) in _UNSAFE else c for c in text)


def plural(count: int, noun: str) -> str:
    """`1 check`, `2 checks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def unjudged(report: Report, here: str = "here") -> str:
    """Of a report with the status `unknown`: why nothing, or not all, could be judged. One sentence."""
    machine, gpus = report.snapshot, report.snapshot.gpus
    if untold := [vendor for vendor in _OF if machine.of_vendor(vendor) and not machine.driver_known(vendor)]:
        looked, whose = plural(len(report.clear), "check"), " and ".join(_OF[vendor] for vendor in untold)
        return f"No problem found by {looked}, but the state of {whose} driver is not known."
    if gpus is None:
        return f"It is not known whether a GPU is {here}, so nothing could be judged."
    kind = "GPU of AMD or NVIDIA" if gpus else "GPU"
    return f"No {kind} was found {here}, so nothing could be judged."


_OF = {"amd": "AMD's", "nvidia": "NVIDIA's"}


def reader_failures(machine: Snapshot) -> list[str]:
    """Readers that failed on a pasted text, and where: what they would have read is missing from the report."""
    failed = [(n.removeprefix("readers."), o) for n, o in machine.origins.items() if n.startswith("readers.")]
    return [
        clean(f"The reader {name} failed at line {o.source.partition(':')[2]} ({o.detail}): please report this.")
        for name, o in failed
    ]


def gpu_line(machine: Snapshot) -> str:
    """`8× AMD Instinct MI300X, 192 GiB`: equal GPUs counted."""
    if machine.gpus is None:
        return "GPUs: not known."
    if not machine.gpus:
        return "GPUs: none found."
    kinds: Counter[str] = Counter()
    for gpu in machine.gpus:
        name = clean(gpu.name or gpu.pci_id or f"{gpu.vendor or 'unknown'} GPU")
        memory = f", {gpu.memory_bytes / 2**30:.0f} GiB" if gpu.memory_bytes else ""
        kinds[f"{name}{f' ({clean(gpu.arch)})' if gpu.arch else ''}{memory}"] += 1
    return "GPUs: " + "; ".join(f"{count}× {kind}" if count > 1 else kind for kind, count in kinds.items())
