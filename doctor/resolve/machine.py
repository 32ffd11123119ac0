"""Parts of a described machine that this version does not know, so that nothing can be recommended or ruled out."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.knowledge import Knowledge
from doctor.knowledge.store import kept
from doctor.knowledge.windows import UNKNOWN_HERE
from doctor.resolve.model import IN_TREE, Reason, Target
from doctor.versions import Dotted


def unknowns(kb: Knowledge, target: Target) -> tuple[Reason, ...]:
    """One reason each for a system, a Python and a driver that no table speaks of."""
    return (*_system(target), *_python(target), *_driver(kb, target))


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
