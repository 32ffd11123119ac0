"""Whether a release has a wheel for a Python, a processor and a C library."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from packaging.specifiers import SpecifierSet

from doctor.knowledge import windows
from doctor.knowledge.frameworks import PackageRelease, PackageWay
from doctor.resolve.model import Reason, Target
from doctor.versions import Dotted


@lru_cache(maxsize=4096)
def contains(specifier: str, version: str) -> bool:
    """Whether a version specifier (`>=2.10,<3`; empty: any) holds a version, pre-releases too."""
    return SpecifierSet(specifier).contains(version, prereleases=True)


def python(target: Target, release: PackageRelease, way: PackageWay) -> Iterator[Reason]:
    if not target.python:
        return
    if way.python:
        verdict = "yes" if target.python in way.python else "no"
        text = f"its wheels are for Python {', '.join(way.python)} only, not {target.python}"
        yield because("python", verdict, text, way)
        return
    bare = target.python.rstrip("t")
    if release.requires_python and not contains(release.requires_python, bare):
        text = f"it needs Python {release.requires_python}, not {target.python}"
        yield because("python", "no", text, release)
    elif release.wheel_pythons and not _wheel_for(target.python, release.wheel_pythons):
        listed = ", ".join(release.wheel_pythons)
        yield because("python", "no", f"its wheels are for {listed}, not for Python {target.python}", release)


def _wheel_for(python: str, tags: tuple[str, ...]) -> bool:
    """`py3` fits all; one CPython tag alone is a stable-ABI wheel, which fits that Python and later ones."""
    if any(t.startswith("py") and t[2:3] == "3" for t in tags):
        return True
    tag = "cp" + python.replace(".", "")
    stable = [t.removesuffix("-abi3") for t in tags if t.endswith("-abi3")]
    if not python.endswith("t") and any(int(tag[3:]) >= int(t[3:]) for t in stable):
        return True
    if len(tags) == 1:
        return tags[0].startswith("cp3") and not python.endswith("t") and int(tag[3:]) >= int(tags[0][3:])
    return tag in tags


def platform(target: Target, release: PackageRelease, way: PackageWay) -> Iterator[Reason]:
    if way.machine and target.machine not in way.machine:
        yield because("platform", "no", f"its GPU wheels are for {', '.join(way.machine)}, not {target.machine}", way)
    if way.glibc and target.glibc and Dotted(target.glibc) < way.glibc:
        yield because("platform", "no", f"it needs glibc {way.glibc} or newer; this system has {target.glibc}", way)
    elif release.linux_platforms and not way.glibc:
        answer = windows.glibc_serves(
            release.linux_platforms, target.machine, target.glibc, release.source, target.libc
        )
        if answer.no:
            yield Reason.of("platform", answer)


def because(kind: str, verdict: str, text: str, entry: PackageWay | PackageRelease) -> Reason:
    return Reason(kind, verdict, text, entry.source, entry.as_of)  # type: ignore[arg-type]
