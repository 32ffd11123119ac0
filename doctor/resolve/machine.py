"""What a machine's own parts say, whatever is installed: what is not known of them, whether the driver drives the GPU,
and which driver a stack needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.knowledge import Knowledge, windows
from doctor.knowledge.store import kept
from doctor.knowledge.windows import UNKNOWN_HERE
from doctor.resolve.model import IN_TREE, Build, Pick, Reason, Target
from doctor.versions import Dotted


def unknowns(kb: Knowledge, target: Target) -> tuple[Reason, ...]:
    """One reason each for a system, a Python and a driver that no table speaks of."""
    return (*_system(target), *_python(target), *_driver(kb, target))


def judge(kb: Knowledge, target: Target) -> tuple[Reason, ...]:
    """What is not known of the machine, and whether its driver drives its GPU."""
    return (*unknowns(kb, target), *_drives(kb, target))


def _drives(kb: Knowledge, target: Target) -> Iterator[Reason]:
    driver = target.driver
    if not target.arch or driver == IN_TREE:
        return
    if target.vendor == "nvidia" and driver:
        answer = windows.driver_knows_gpu(kb, driver, target.arch)
    elif driver or target.rocm:
        amdgpu = driver or windows.driver_of_rocm(kb, target.rocm)
        answer = windows.amdgpu_drives_gpu(kb, amdgpu, target.arch, target.gpu)
    else:
        return
    if answer.no or (target.vendor == "amd" and answer.verdict == "unknown" and answer.source):
        yield Reason.of("driver", answer)


def driver_needed(kb: Knowledge, target: Target, build: Build | None, picks: Sequence[Pick]) -> str | None:
    """`NVIDIA driver >= 580.65.06`, with the branches that drive the GPU; the amdgpu drivers that AMD lists for a ROCm.
    None where nothing of the stack says it."""
    if target.vendor == "amd":
        series = [build.rocm] if build and build.rocm else [p.rocm[0] for p in picks if len(p.rocm) == 1]
        window = kb.user_window(series[0]) if series else None
        adds, arch, gpu = windows.amdgpu_that_adds(kb, target.arch), target.arch, target.gpu
        driving = [d for d in window.kmd if not windows.amdgpu_drives_gpu(kb, d, arch, gpu).no] if window else []
        words = windows.ranged(driving) if driving else f">= {adds.version if adds else ''}"
        return f"an amdgpu driver {words}" if driving or adds else None
    cudas = [build.cuda if build else None, *(p.cuda for p in picks)]
    floors = [str(floor.driver) for cuda in cudas if cuda and (floor := kb.cuda_floor(cuda))]
    if not floors:
        return None
    first, last = windows.driver_branches_of(kb, target.arch) if target.arch else (None, None)
    lowest = max([*floors, *([first] if first else [])], key=lambda v: Dotted(v).numbers)
    end = f", of branch {last} at most" if last else ""
    return f"NVIDIA driver >= {lowest}{end}{_OF_JETSON.get(target.arch or '', '')}"


_OF_JETSON = {"sm_87": " (JetPack 7.2 or newer: wheels for Arm servers do not run on older ones)"}
"""Source: github.com/NixOS/nixpkgs/issues/530931, as of 2026-06-12."""


def _system(target: Target) -> Iterator[Reason]:
    if target.os and not target.glibc and target.libc != "musl":
        text = f"the C library of {target.os} {target.os_version or ''} is {UNKNOWN_HERE}; --glibc gives its version"
        yield Reason("platform", "unknown", text.replace("  ", " "))


def _python(target: Target) -> Iterator[Reason]:
    newest = newest_python()
    if target.python and Dotted(target.python.rstrip("t")) > newest:
        yield Reason("python", "unknown", f"Python {target.python} is {UNKNOWN_HERE}; the newest known is {newest}")


@kept
def newest_python() -> str:
    """The newest CPython that a known torch release has wheels for: `3.15`."""
    tags = {tag.rstrip("t") for release in Knowledge().torch_releases() for tag in release.pythons}
    return f"3.{max(int(tag[3:]) for tag in tags)}"


def _driver(kb: Knowledge, target: Target) -> Iterator[Reason]:
    if target.driver is None or target.vendor is None:
        return
    if target.driver == IN_TREE:
        text = "which ROCm an in-tree amdgpu supports depends on the kernel, and is not in the knowledge base"
        yield Reason("driver", "unknown", text)
        return
    if target.vendor == "nvidia":
        newest = str(max(int(branch.branch) for branch in kb.driver_branches()))
        beyond = (Dotted(target.driver).major or 0) > int(newest)
    else:
        newest = max((driver.version for driver in kb.amdgpu_drivers()), key=lambda v: Dotted(v).numbers)
        beyond = Dotted(target.driver) > newest
    if beyond:
        yield Reason("driver", "unknown", f"driver {target.driver} is {UNKNOWN_HERE}; the newest known is {newest}")
