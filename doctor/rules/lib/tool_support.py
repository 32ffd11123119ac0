"""Whether compilers, converters, profilers and CUDA's libraries work for the GPUs that are there, by their release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from doctor.facts.drivers import Install, Tool
from doctor.facts.snapshot import Snapshot
from doctor.knowledge.windows import sm_number
from doctor.rules.lib.hardware import named_gpu
from doctor.rules.lib.python_code import one_an_arch
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.facts.gpu import Gpu
    from doctor.knowledge import Knowledge
    from doctor.knowledge.frameworks import ToolSupport

_OF_ROCM = ("hipcc", "amdclang++", "rocprofv3", "rocprof-sys-run", "rocprof-sys-sample", "omnitrace-run", "omnitrace")
"""Made for the GPUs of the ROCm that they came with."""


class Unserved(NamedTuple):
    """`thing` is the tool's or installation's name, `where` its path, `names` the facts that it rests on, `cuda` the
    release of the toolkit that serves."""

    thing: str
    where: str
    text: str
    names: tuple[str, ...]
    fix: str
    source: str
    cuda: str | None = None


def release(machine: Snapshot, tool: Tool) -> str | None:
    """Of the tool itself, else of the installation that it belongs to. ncu and nsys are not numbered as CUDA is."""
    if tool.version or tool.name in ("ncu", "nsys"):
        return tool.version
    installs = (*(machine.cuda or ()), *(machine.rocm or ()))
    return next((i.version for i in installs if tool.of and i.path.rstrip("/") == tool.of.rstrip("/")), None)


def unserved(machine: Snapshot, kb: Knowledge) -> Iterator[Unserved]:
    """Every GPU and tool that do not go together; nothing of what is not known."""
    if not machine.gpus:
        return
    for install in (i for i in machine.cuda or () if i.kind):  # a pasted text names releases, not installations
        yield from _cuda(machine, kb, install)
    seen: set[tuple[str, str]] = set()
    for tool in machine.tools or ():
        version = release(machine, tool)
        if not version or (tool.name, version) in seen:
            continue
        seen.add((tool.name, version))
        if tool.name == "nvcc":
            if not any(i.path == tool.of for i in machine.cuda or ()):
                yield from _nvcc(machine, kb, version, tool.key, "tools")
        elif tool.name in _OF_ROCM:
            yield from _rocm_tool(machine, kb, tool, version)
        else:
            yield from _by_table(machine, kb, tool, version)


def _cuda(machine: Snapshot, kb: Knowledge, install: Install) -> Iterator[Unserved]:
    """A CUDA that dropped the GPU serves it neither by its compiler nor by its libraries."""
    components = install.components or {}
    nvcc = components.get("nvcc") or next(
        (t.version for t in machine.tools or () if t.name == "nvcc" and t.of == install.path), None
    )
    if nvcc:
        yield from _nvcc(machine, kb, install.version or nvcc, install.path, "cuda")
        return
    row = kb.cuda_minor(install.version)
    for gpu, number in _numbered(machine):
        if row and row.sm and number < min(row.sm):
            libraries = ", ".join(sorted(components)[:8])
            yield Unserved(
                f"CUDA {row.minor}", install.path,
                f"The libraries of CUDA {row.minor} ({libraries}) do not support {gpu.arch}{_until(kb, number)}.",
                ("cuda", f"gpus[{gpu.key}].arch"),
                *_older(kb, number, "Install libraries", f"{row.source} ({row.as_of})"),
            )  # fmt: skip


def _nvcc(machine: Snapshot, kb: Knowledge, version: str, path: str, fact: str) -> Iterator[Unserved]:
    row = kb.cuda_minor(version)
    if row is None or not row.sm:
        return
    source = f"{row.source} ({row.as_of})"
    for gpu, number in _numbered(machine):
        names = (fact, f"gpus[{gpu.key}].arch")
        if number < min(row.sm):
            text = f"nvcc of CUDA {row.minor} and its libraries do not support {gpu.arch}{_until(kb, number)}."
            yield Unserved("nvcc", path, text, names, *_older(kb, number, "Install the toolkit", source))
        elif number not in row.sm:
            first = kb.cuda_range(number)
            since = f"; CUDA {first[0]} is the first that does" if first else ""
            text = f"nvcc of CUDA {row.minor} cannot compile for {gpu.arch}{since}."
            fix = f"Install the toolkit of CUDA {first[0]} or newer." if first else "Install a newer toolkit."
            yield Unserved("nvcc", path, text, names, fix, source, first[0] if first else None)
    floor, driver = kb.cuda_floor(row.minor), machine.nvidia_driver.version
    if floor and driver and not Dotted(driver).reaches(floor.driver):
        served = kb.driver_serves_cuda(driver)
        yield Unserved(
            "nvcc", path,
            f"Programs built by nvcc of CUDA {row.minor} do not run on driver {driver[:20]}, which must be "
            f"{floor.driver} or newer.",
            (fact, "nvidia_driver.version"),
            f"Install a toolkit of CUDA {served} or older, or a newer driver." if served else "Install a newer driver.",
            floor.source, served,
        )  # fmt: skip


def _rocm_tool(machine: Snapshot, kb: Knowledge, tool: Tool, version: str) -> Iterator[Unserved]:
    """Older than the first ROCm that lists the GPU. Of one that no release lists, other rules speak."""
    for gpu in one_an_arch(machine, "amd"):
        bounds = kb.rocm_range(gpu.arch)
        if bounds and Dotted(version).series() and not Dotted(version).reaches(bounds[0]):
            yield Unserved(
                tool.name, tool.key,
                f"{tool.name} of ROCm {version[:20]} is older than {bounds[0]}, the first that lists {gpu.arch}.",
                ("tools", f"gpus[{gpu.key}].arch"),
                f"Install it from ROCm {bounds[0]} or newer.", "ROCm's support matrices",
            )  # fmt: skip


def _by_table(machine: Snapshot, kb: Knowledge, tool: Tool, version: str) -> Iterator[Unserved]:
    row = kb.tool_support(tool.name, version)
    if row is None:
        return
    source = f"{row.source} ({row.as_of})"
    vendor = "amd" if row.gfx else "nvidia"
    for gpu in one_an_arch(machine, vendor) if not row.cuda_max else ():
        if not _serves(row, gpu):
            yield Unserved(
                tool.name, tool.key,
                f"{tool.name} {version[:20]} does not support {named_gpu(gpu)}.",
                ("tools", f"gpus[{gpu.key}].arch"),
                f"Use {row.instead or f'a release of {tool.name} that supports {gpu.arch}'}.", source,
            )  # fmt: skip
    newest = max((i.version or "" for i in machine.cuda or ()), key=lambda v: Dotted(v).numbers, default="")
    if row.cuda_max and newest and Dotted(Dotted(newest).series()) > row.cuda_max:
        yield Unserved(
            tool.name, tool.key,
            f"{tool.name} of ROCm {version[:20]} reads CUDA up to {row.cuda_max}, but CUDA {newest[:12]} is installed.",
            ("tools", "cuda"), "Install a newer HIPIFY, or pass an older CUDA with --cuda-path.", source,
        )  # fmt: skip


def _serves(row: ToolSupport, gpu: Gpu) -> bool:
    """True too where the GPU's architecture can't be read."""
    if row.gfx:
        return (gpu.arch or "").partition(":")[0].startswith(row.gfx)
    number = sm_number(gpu.arch)
    if number is None:
        return True
    if row.sm:
        return number in row.sm
    return (row.sm_min or 0) <= number <= (row.sm_max or 10_000)


def _numbered(machine: Snapshot) -> Iterator[tuple[Gpu, int]]:
    for gpu in one_an_arch(machine, "nvidia"):
        number = sm_number(gpu.arch)
        if number is not None:
            yield gpu, number


def _until(kb: Knowledge, number: int) -> str:
    known = kb.cuda_range(number)
    return f"; CUDA {known[1]} is the last that does" if known else ""


def _older(kb: Knowledge, number: int, what: str, source: str) -> tuple[str, str, str | None]:
    """Fix, source and release."""
    last = (kb.cuda_range(number) or (None, None))[1]
    return (f"{what} of CUDA {last} or older." if last else f"{what} of an older CUDA."), source, last
