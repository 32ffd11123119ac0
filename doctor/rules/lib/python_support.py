"""Installed packages that no release serves these GPUs with: for another vendor alone, or for newer GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject, evidence
from doctor.knowledge.windows import sm_number
from doctor.rules.lib.hardware import vendors_there
from doctor.rules.lib.python_code import one_an_arch
from doctor.rules.lib.python_packages import release
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.knowledge.frameworks import PackageWay

_JUDGED = (
    "flash-attn", "transformer-engine", "tensorrt-llm", "tensorrt", "torch-tensorrt", "vllm", "sglang", "jax",
    "paddlepaddle-gpu", "onnxruntime-gpu", "flashinfer-python", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip
_VENDORS = {"amd": "AMD", "nvidia": "NVIDIA"}


def unsupported(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """By the table of ways to install packages. Builds from source and nightlies are nobody's release: not judged, and
    neither are packages of a pasted list."""
    there = vendors_there(machine)
    if len(there) != 1 or machine.source("packages").startswith("text:"):
        return
    (vendor,) = there
    for package in machine.packages or ():
        if package.name in _JUDGED and release(package.version) == package.version:
            yield from _judged(machine, kb, package, vendor)


def _judged(machine: Snapshot, kb: Knowledge, package: Package, vendor: str) -> Iterator[Finding]:
    ways = [w for w in kb.package_ways(package.name) if w.kind != "image"]
    ours = [w for w in ways if w.vendor in (vendor, "any")]
    if ways and not ours and _own_code(machine, package, vendor) is False:
        text = f"{package.name} {package.version[:20]} does not support {_VENDORS[vendor]}'s GPUs."
        yield _finding(machine, package, text, ways[0], ())
    lowest = [_lowest(w) for w in ours if _holds(w, package.version)]
    floor = min((n for n in lowest if n), default=None) if lowest and all(lowest) else None
    for gpu in one_an_arch(machine, "nvidia") if vendor == "nvidia" and floor else ():
        number = sm_number(gpu.arch)
        if number and floor and number < floor:
            text = (
                f"{package.name} {package.version[:20]} does not support {gpu.arch}; its support starts at sm_{floor}."
            )
            yield _finding(machine, package, text, ours[0], (f"gpus[{gpu.key}].arch",))


def _lowest(way: PackageWay) -> int | None:
    """The oldest of NVIDIA's architectures that it serves."""
    listed = [n for n in map(sm_number, way.gpus) if n]
    return sm_number(way.cc_min) or min(listed, default=None)


def _own_code(machine: Snapshot, package: Package, vendor: str) -> bool | None:
    """Whether its files hold code for the vendor's GPUs: a build of somebody's own may."""
    held = [b for b in machine.binaries or () if b.package == package.name]
    return any((b.gfx if vendor == "amd" else b.sass or b.ptx) for b in held)


def _holds(way: PackageWay, version: str) -> bool:
    """Whether the way is for that release; specifiers of the table are `>=A,<B`."""
    for part in filter(None, way.versions.split(",")):
        bound = part.lstrip("<>=")
        compared = Dotted(version).compare(Dotted(bound))
        sign = part[: len(part) - len(bound)]
        if not {">=": compared >= 0, "<=": compared <= 0, "<": compared < 0, ">": compared > 0}.get(sign, False):
            return False
    return True


def _finding(machine: Snapshot, package: Package, text: str, way: PackageWay, names: tuple[str, ...]) -> Finding:
    return Finding(
        summary=text,
        severity=Severity.WARNING,
        subject=Subject(kind="package", id=package.name),
        evidence=(
            Evidence(text=f"{package.name} {package.version}", source=machine.source("packages")),
            *evidence(machine, names or ("gpus",)),
        ),
        source=f"{way.source} ({way.as_of})",
    )
