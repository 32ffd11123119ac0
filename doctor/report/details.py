"""What -v and -vv add: the GPUs' numbers in every order, the facts, and where each fact was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.facts import Snapshot
from doctor.redaction.secrets import MASK, is_secret_name, masked
from doctor.report import surroundings
from doctor.report.words import clean

_COLUMNS = ("GPU", "SMI", "PCI", "KFD", "HIP", "CUDA", "visible", "render", "NUMA")
_SHORT = 60
_FACTS = (
    "os.name",
    "kernel.release",
    "container.inside",
    "container.engine",
    "nvidia_driver.version",
    "nvidia_driver.flavour",
    "nvidia_driver.cuda_version",
    "amdgpu_driver.version",
    "amdgpu_driver.source",
    "rocm",
    "cuda",
    "interpreter.path",
    "interpreter.version",
    "torch.version",
    "torch.build",
    "torch.arch_list",
    "host.cpu",
    "host.numa_balancing",
    "host.iommu",
)


def lines(machine: Snapshot, width: int, verbose: int) -> Iterator[tuple[str, str]]:
    """(text, style) rows; numbers and facts at 1, origins too at 2."""
    yield from _numbers(machine, width)
    yield "", ""
    yield "Facts", "bold"
    for name in _FACTS:
        value = machine.get(name)
        shown = "unknown" if value is None else masked(clean(_short(value)))
        yield f"  {name} = {shown}", ""
    yield from surroundings.lines(machine)
    if verbose > 1:
        yield "", ""
        yield "Origins", "bold"
        for name, origin in sorted(machine.origins.items()):
            yield f"  {clean(name)}: {_value(machine, name, origin.state.value)}  [{clean(origin.source)}]", ""
            if origin.detail:
                yield f"    {masked(clean(origin.detail))}", ""
            for other in origin.others:
                yield f"    differs: {masked(clean(other.value))}  [{clean(other.source)}]", ""


def _value(machine: Snapshot, name: str, state: str) -> str:
    if state != "value":
        return state
    if name.startswith("environment[") and is_secret_name(name[12:-1], variable=True):
        return MASK
    if name == "environment":
        return f"{len(machine.environment or {})} variables"
    try:
        value = machine.get(name)
    except AttributeError:  # an origin of something that is no fact (a probe's own outcome)
        return state
    return state if value is None else masked(clean(_short(value)))


def _short(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(_short(v) for v in value[:6]) + (f" … ({len(value)})" if len(value) > 6 else "") or "none"
    if hasattr(value, "version") and hasattr(value, "path"):
        return f"{value.version or '?'} in {value.path}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(getattr(value, "key", value))
    return text if len(text) <= _SHORT * 4 else text[: _SHORT * 4] + "…"


def _numbers(machine: Snapshot, width: int) -> Iterator[tuple[str, str]]:
    """A table where it fits, else a short list a GPU."""
    if not machine.gpus:
        return
    rows = []
    for gpu in machine.gpus:
        index = gpu.index
        numbers = (
            index.smi,
            index.pci,
            index.kfd,
            index.hip,
            index.cuda,
            index.visible,
            gpu.render_node,
            gpu.numa_node,
        )
        rows.append((clean(gpu.key), *("?" if n is None else clean(str(n)) for n in numbers)))
    widths = [max(len(r[i]) for r in (_COLUMNS, *rows)) for i in range(len(_COLUMNS))]
    yield "", ""
    yield "GPU numbers in each order (? is unknown)", "bold"
    if sum(widths) + 2 * len(widths) <= width:
        for row in (_COLUMNS, *rows):
            yield "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip(), ""
        return
    for row in rows:
        yield f"  {row[0]}", ""
        for name, number in zip(_COLUMNS[1:], row[1:], strict=True):
            yield f"    {name}: {number}", ""
