"""Small phrases that renderers share: text made safe, counts, and the machine's GPUs in one line."""

from __future__ import annotations

import unicodedata
from collections import Counter

from doctor.facts import Snapshot

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
