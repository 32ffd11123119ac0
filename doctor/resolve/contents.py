"""What a package's wheel itself says of a machine and a build of torch: the CUDA that its libraries ask for, and the
GPUs that it has code for. Releases whose wheels were not read say nothing here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.knowledge import Knowledge, windows
from doctor.knowledge.frameworks import PackageRelease, PackageWay, WheelContent
from doctor.resolve.model import Build, Reason, Target
from doctor.versions import Dotted

_CUDA_LIBRARY = re.compile(r"lib(?:cudart|cublas)\.so\.(\d+)")


def judge(
    kb: Knowledge, target: Target, release: PackageRelease, way: PackageWay, build: Build | None
) -> Iterator[Reason]:
    """`way` is where the package comes from: another index holds other wheels of the same release, for the same GPUs
    at least."""
    held = _held(kb, release, way, target.machine)
    if held is None and release.linux_platforms and target.machine not in " ".join(release.linux_platforms):
        return  # it has no such wheel
    code = list(_code(kb, target, held, build)) if held and way.code else []
    if way.code and (held is None or (way.index and target.arch and all(r.verdict != "yes" for r in code))):
        where = f"on {target.machine}" if held is None else "on that index"
        yield Reason("package", "unknown", f"the libraries of its wheel {where} were not read", way.source, way.as_of)
        return
    if held is None or way.index:
        yield from code
        return
    yield from _cuda(kb, target, release, way, held, build)
    if way.code:
        yield from _variants(held, build) if way.builds else ()
        yield from code
    if target.glibc and held.glibc and not held.variants and Dotted(target.glibc) < held.glibc:
        text = f"its libraries need glibc {held.glibc}, whatever its wheel is called; this system has {target.glibc}"
        yield _reason("platform", "no", text, held)


def _held(kb: Knowledge, release: PackageRelease, way: PackageWay, machine: str) -> WheelContent | None:
    """Of the release that is installed, or of another patch of its minor release (of 0.0.x the same third number): one
    of each is read. The code may be in another package, which the release pins."""
    package, version = way.code or release.package, release.version
    for asked in (release.pins, *release.extras.values()):
        pinned = next(
            (re.search(r"\d+(?:\.\w+)*", spec) for name, spec in asked.items() if _bare(name) == package), None
        )
        version = pinned[0] if pinned else version
    read = kb.wheel_contents(package, machine)
    same = [held for held in read if _series(held.version) == _series(version)]
    return next((held for held in same if held.version == version), same[0] if same else None)


def _bare(name: str) -> str:
    """`jax-cuda12-plugin` of `jax-cuda12-plugin[with-cuda]`."""
    return name.partition("[")[0]


def _series(version: str) -> tuple[int, ...]:
    numbers = Version(version).release
    return numbers[:3] if numbers[:2] == (0, 0) else numbers[:2]


def majors(held: WheelContent) -> set[int]:
    """CUDA majors that the libraries ask for: `libcudart.so.12` is of CUDA 12."""
    found = map(_CUDA_LIBRARY.fullmatch, (*held.needed, *held.opens))
    return {int(match[1]) for match in found if match}


def _cuda(
    kb: Knowledge, target: Target, release: PackageRelease, way: PackageWay, held: WheelContent, build: Build | None
) -> Iterator[Reason]:
    asked = majors(held)
    if not asked or target.vendor != "nvidia":
        return
    words = f"its libraries need CUDA {' or '.join(map(str, sorted(asked)))}"
    there = _brought(release, way) | ({int(build.cuda.split(".")[0])} if build and build.cuda else set())
    if build and build.cuda and not build.bundled_by and not asked & there:
        text = f"{words} ({', '.join(held.needed) or ', '.join(held.opens)}), not for torch's CUDA {build.cuda}"
        yield _reason("package", "no", text, held)
    if target.driver and (build is None or build.bundled_by):
        answer = windows.driver_serves_cuda(kb, target.driver, f"{min(asked)}.0", target.arch)
        yield _reason("driver", answer.verdict, f"{words}; {answer.reason}", held)


def _brought(release: PackageRelease, way: PackageWay) -> set[int]:
    """CUDA majors of the libraries that its requirements bring, with the extras of its way."""
    extra = {int(way.cuda.split(".")[0])} if way.cuda and way.install else set()
    return {int(n) for name in release.pins for n in re.findall(r"^nvidia-.*-cu(\d+)$", name)} | extra


def cuda(kb: Knowledge, release: PackageRelease, way: PackageWay, machine: str) -> str | None:
    """The oldest CUDA that its libraries run with."""
    held = None if way.index else _held(kb, release, way, machine)
    return f"{min(majors(held))}.0" if held and majors(held) else None


def lacking(kb: Knowledge, release: PackageRelease, way: PackageWay, machine: str) -> str | None:
    """CUDA libraries that it loads and that none of its requirements brings."""
    held = _held(kb, release, way, machine)
    if held is None or not majors(held) or majors(held) & _brought(release, way):
        return None
    major = max(majors(held))
    found = {lib: _CUDA_LIBRARY.fullmatch(lib) for lib in (*held.needed, *held.opens) if not lib.startswith("libcuda.")}
    libraries = [lib for lib, match in found.items() if match is None or int(match[1]) == major]
    return f"{', '.join(libraries)} (CUDA {major}) on the machine: this command does not install it"


def _variant(build: Build | None) -> str:
    """`cuda130` of torch's build."""
    kind = "cuda" if build and build.cuda else "rocm"
    return f"{kind}{''.join(c for c in build.tag if c.isdigit())}" if build else ""


def _variants(held: WheelContent, build: Build | None) -> Iterator[Reason]:
    """A library for each CUDA or ROCm: the one of torch's must be among them."""
    if build is None or build.tag == "cpu":
        return
    there = [v for v in held.variants if v[:4] == _variant(build)[:4]]
    if held.variants and _variant(build) not in there:
        text = f"it has libraries for {', '.join(there) or 'CUDA alone'}, not for {build.tag}"
        yield _reason("package", "no", text, held)


def _code(kb: Knowledge, target: Target, held: WheelContent, build: Build | None) -> Iterator[Reason]:
    """Of the library that torch's build loads, where each CUDA has its own. Code for a GPU that most of the wheel was
    not compiled for is of a few kernels."""
    prefixes = ("gfx",) if target.vendor == "amd" else ("sm_", "compute_")
    own = held.variants.get(_variant(build), ())
    archs, most = ([a for a in listed if a.startswith(prefixes)] for listed in (own or held.archs, held.most))
    if not archs or not target.arch:
        return
    answer = windows.code_runs(kb, target.arch, archs)
    if answer.verdict == "yes" and most and not own and windows.code_runs(kb, target.arch, most).no:
        text = f"only a part of it has code for {target.arch}; the rest is built for {', '.join(most)}"
        answer = windows.Answer("no", text)
    yield _reason("gpu", answer.verdict, answer.reason, held)


def _reason(kind: str, verdict: str, text: str, held: WheelContent) -> Reason:
    return Reason(kind, verdict, text, held.source, held.as_of)  # type: ignore[arg-type]


def missing_extra(kb: Knowledge, release: PackageRelease, extras: frozenset[str]) -> Iterator[Reason]:
    """What the extras of a release pin and no known release satisfies, of packages that the catalogue knows."""
    for extra in sorted(extras):
        for named, spec in release.extras.get(extra, {}).items():
            name = _bare(named)
            known = [r.version for r in kb.package_releases(name)]
            pinned = re.search(r"\d+(?:\.\d+)*", spec)
            if not known or not pinned or Version(pinned[0]) < min(map(Version, known)):
                continue
            if not any(SpecifierSet(spec).contains(version, prereleases=True) for version in known):
                text = f"its extra {extra} needs {name}{spec}, and no such release is known"
                yield Reason("package", "no", text, release.source, release.as_of)
