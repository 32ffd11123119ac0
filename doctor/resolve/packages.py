"""Packages beside torch: which release, installed in which way, fits a machine and a build of torch."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.knowledge import Knowledge, windows
from doctor.knowledge.frameworks import PackageRelease, PackageWay
from doctor.knowledge.windows import UNKNOWN_HERE, Answer
from doctor.resolve import contents, machine, torch_builds, wheels
from doctor.resolve.model import IN_TREE, Build, Pick, Reason, Target
from doctor.resolve.wheels import because
from doctor.versions import Dotted

TORCH_INDEX = "{torch}"
"""In PackageWay.index: the one of torch's build."""
FAMILY = ("torch", "torchvision", "torchaudio")
ALIASES = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy-rocm-7-0"), "te": ("transformer-engine",),
            "flash-attention": ("flash-attn",), "onnxruntime": ("onnxruntime-gpu", "onnxruntime-migraphx"),
            "flashinfer": ("flashinfer-python",), "megatron": ("megatron-core",),
            "tf": ("tensorflow",)}  # fmt: skip
"""Names that people use for packages that are called otherwise."""


def meant(kb: Knowledge, wish: Requirement) -> tuple[str, ...]:
    """The packages that a name may mean; () for one that is not known."""
    name = canonicalize_name(wish.name)
    if name in ALIASES:
        return ALIASES[name]
    return (name,) if name in kb.packages() or name == "torch" else ()


def is_known(kb: Knowledge, name: str, version: str) -> bool:
    """Whether a release of a package is one of the catalogue."""
    if canonicalize_name(name) == "torch":
        return kb.torch_build(version) is not None
    return any(r.version == version for r in kb.package_releases(canonicalize_name(name)))


def for_vendor(kb: Knowledge, target: Target, named: tuple[str, ...]) -> bool:
    """Whether a way to install one of the packages is known for the vendor's GPUs."""
    ways = [way for name in named for way in kb.package_ways(name)]
    mine = any(way.vendor in ("any", target.vendor) and way.kind != "image" for way in ways)
    return mine or not ways or target.vendor is None or "torch" in named


def needs_torch(kb: Knowledge, wish: Requirement) -> bool:
    """Whether a build of torch must be chosen for it."""
    for name in meant(kb, wish):
        if name in FAMILY or any(r.torch for r in kb.package_releases(name)):
            return True
        if any(w.builds or (w.torch and w.torch != "bundled") for w in kb.package_ways(name)):
            return True
    return False


def pick(kb: Knowledge, target: Target, wish: Requirement, build: Build | None) -> Pick:
    """The newest release that fits, else the attempt that comes nearest: its reasons say what is against it."""
    best: tuple[tuple[int, int], Pick] | None = None
    for attempts in _attempts(kb, target, wish, build):
        for attempt in attempts:
            rank = (
                sum(r.verdict == "no" for r in attempt.reasons),
                sum(r.verdict == "unknown" for r in attempt.reasons),
            )
            if best is None or rank < best[0] or (rank == best[0] and _is_newer(attempt, best[1])):
                best = (rank, attempt)
            if rank == (0, 0):
                break
    if best:
        return best[1]
    releases = [r.version for name in meant(kb, wish) for r in kb.package_releases(name)]
    there = any(wish.specifier.contains(version, prereleases=True) for version in releases)
    whose = f" for {target.vendor.upper()} GPUs" if there and target.vendor else ""
    text = f"{wish.name}{wish.specifier}{whose} is {UNKNOWN_HERE}"
    return Pick(wish.name, "", "", reasons=(Reason("package", "unknown", text),))


def _is_newer(one: Pick, other: Pick) -> bool:
    """Of two attempts that come as near, the newer release says more."""
    return bool(one.version and other.version) and Version(one.version) > Version(other.version)


def _attempts(kb: Knowledge, target: Target, wish: Requirement, build: Build | None) -> Iterator[Iterator[Pick]]:
    """For each way to install it, its releases."""
    for name in meant(kb, wish):
        if build and name in ("torchvision", "torchaudio") and not build.bundled_by:
            yield _companion(kb, wish, name, build)
            continue
        ways = [w for w in kb.package_ways(name) if w.kind != "image"] or _plainly(kb, name)
        ours = [w for w in ways if w.vendor in ("any", target.vendor) or target.vendor is None]
        for way in ours:
            if not _extras_fit(wish, way):
                continue
            suits = [r for r in _releases(kb, name, way) if _suits(wish, way, r)]
            fitting = [r for r in suits if all(a.verdict != "no" for a in _torch(r, way, build, kb))]
            # Of releases that are made for another torch, the newest speaks for all.
            yield (_tried(kb, target, wish, release, way, build) for release in fitting or suits[:1])


def _plainly(kb: Knowledge, name: str) -> list[PackageWay]:
    """The way of a package of which no other is known: what its own metadata asks for."""
    known = kb.package_releases(name)
    return [PackageWay(id=name, package=name, source=r.source, as_of=r.as_of) for r in known[:1]]


def _suits(wish: Requirement, way: PackageWay, release: PackageRelease) -> bool:
    public = release.version.partition("+")[0]
    return wish.specifier.contains(public, prereleases=True) and wheels.contains(way.versions, public)


def _extras_fit(wish: Requirement, way: PackageWay) -> bool:
    """`jax[cuda13]` is installed in the way that brings that extra, where ways differ by extra."""
    brought = _brought(way)
    return not (wish.extras and brought) or wish.extras <= brought


def _brought(way: PackageWay) -> set[str]:
    """Extras that a way installs."""
    return {e for text in way.install for e in Requirement(text.split("==")[0]).extras}


def _releases(kb: Knowledge, name: str, way: PackageWay) -> tuple[PackageRelease, ...]:
    """Those of the table; for a way whose releases the table does not hold, the one that it names."""
    known = kb.package_releases(name)
    if way.latest and all(r.version != way.latest for r in known):
        return (PackageRelease(package=name, version=way.latest, source=way.source, as_of=way.as_of),)
    return known


def _tried(
    kb: Knowledge, target: Target, wish: Requirement, release: PackageRelease, way: PackageWay, build: Build | None
) -> Pick:
    about = f"{release.package} {release.version}"
    reasons = tuple(
        Reason.of(reason.kind, Answer(reason.verdict, reason.text, reason.source, reason.as_of), about)
        for reason in (
            *_torch(release, way, build, kb),
            *_gpu(kb, target, way, build),
            *_driver(kb, target, way),
            *wheels.python(target, release, way),
            *wheels.platform(target, release, way),
            *contents.judge(kb, target, release, way, build),
            *contents.missing_extra(kb, release, frozenset(wish.extras | _brought(way))),
            because("package", "yes", "its releases are known", release),
        )
    )
    extras = f"[{','.join(sorted(wish.extras))}]" if wish.extras else ""
    asked = f"{release.package}{extras}=={release.version}"
    requirement = " ".join(way.install).format(version=release.version) if way.install else asked
    return Pick(
        package=release.package,
        version=release.version,
        requirement=requirement,
        index=tuple(i.format(version=release.version) for i in way.index if i != TORCH_INDEX),
        from_torch=TORCH_INDEX in way.index,
        options=way.options,
        needs=_needs(kb, target, release, way, build),
        note=way.note,
        cuda=way.cuda or contents.cuda(kb, release, way, target.machine),
        rocm=way.rocm,
        compiled=way.kind == "source" or release.wheels is not None,
        family=tuple(
            f"{name}{'' if pin == '*' else pin}"
            for name, pin in (("torchvision", release.torchvision), ("torchaudio", release.torchaudio))
            if pin
        ),
        reasons=reasons,
    )


def _torch(release: PackageRelease, way: PackageWay, build: Build | None, kb: Knowledge) -> Iterator[Reason]:
    wanted = way.torch or release.torch
    if build is None or (wanted == "bundled" and build.bundled_by == release.package):
        return
    if wanted == "bundled":
        yield because("package", "no", "it comes with its own torch", way)
        return
    if build.bundled_by:
        if wanted not in (None, "*"):
            yield because("package", "unknown", f"the torch of {build.bundled_by} is {UNKNOWN_HERE}", release)
        return
    if wanted and wanted != "*" and not wheels.contains(wanted, build.version):
        yield because("package", "no", f"it needs torch {wanted}, not {build.version}", release)
    entry = kb.torch_build(build.version)
    if release.package == "triton" and entry and entry.triton:
        pinned = entry.triton if entry.triton[:1] in "=~<>!" else f"=={entry.triton}"
        if not wheels.contains(pinned, release.version):
            yield because("package", "no", f"torch {build.version} needs triton {pinned.lstrip('=')}", release)
    if way.builds and build.tag != "cpu":
        default = entry.default_cuda.replace(".", "") if entry and entry.default_cuda else ""
        allowed = {f"cu{default}" if b == "default" else b for b in way.builds}
        fits = build.tag in allowed
        text = f"it is built for torch's {' or '.join(sorted(allowed))} build, not {build.tag}"
        yield because("package", "yes" if fits else "no", text if not fits else f"it is built for {build.tag}", way)


def _gpu(kb: Knowledge, target: Target, way: PackageWay, build: Build | None) -> Iterator[Reason]:
    if not target.arch:
        return
    if way.gpus:
        answer = windows.code_runs(kb, target.arch, way.gpus, build.cuda if build else None)
        yield because("gpu", answer.verdict, answer.reason, way)
    device = windows.sm_number(target.arch)
    if device is None or target.vendor != "nvidia":
        return
    low = windows.sm_number(way.cc_min)
    if low and device < low:
        yield because(
            "gpu", "no", f"it needs compute capability {way.cc_min} or higher; this GPU is {target.arch}", way
        )
    if (dropped := windows.cuda_has_gpu(kb, way.cuda, target.arch)).no:
        yield Reason.of("gpu", dropped)
    if way.cuda and target.arch in _JETSON:
        yield because("gpu", "unknown", f"whether its wheels for Arm servers run on a Jetson is {UNKNOWN_HERE}", way)


_JETSON = ("sm_53", "sm_62", "sm_72", "sm_87")
"""GPUs that had systems and libraries apart from Arm servers; Thor (sm_110) has the same (NVIDIA's CUDA 13.0 notes)."""


def _driver(kb: Knowledge, target: Target, way: PackageWay) -> Iterator[Reason]:
    if way.cuda and target.driver and target.vendor == "nvidia":
        yield Reason.of("driver", windows.driver_serves_cuda(kb, target.driver, way.cuda, target.arch))
    if way.driver and target.driver and target.vendor == "nvidia" and Dotted(target.driver) < way.driver:
        yield because("driver", "no", f"it needs driver {way.driver} or newer; {target.driver} is loaded", way)
    if way.local_rocm and target.rocm and Dotted(target.rocm).series() not in way.rocm:
        text = f"it needs ROCm {windows.ranged(way.rocm)} on the machine; {target.rocm} is installed"
        yield because("rocm", "no", text, way)
    if way.rocm and target.vendor == "amd" and target.driver != IN_TREE and (target.driver or target.rocm):
        answers = [torch_builds.amdgpu_serves(kb, target, rocm) for rocm in way.rocm]
        yield min(answers, key=lambda r: ("yes", "unknown", "no").index(r.verdict))


def image_fits(kb: Knowledge, target: Target, way: PackageWay) -> bool:
    """Whether nothing known speaks against a container image on this GPU and driver."""
    reasons = (*machine.judge(kb, target), *_gpu(kb, target, way, None), *_driver(kb, target, way))
    return way.vendor == target.vendor and all(r.verdict != "no" for r in reasons)


def _needs(kb: Knowledge, target: Target, release: PackageRelease, way: PackageWay, build: Build | None) -> str | None:
    if release.package != "flash-attn" or not build or not build.cuda:
        return way.needs or (contents.lacking(kb, release, way, target.machine) if build is None else None)
    major, torch = build.cuda.split(".")[0], Dotted(build.version).series()
    compiler = f"a CUDA {major} toolkit with nvcc"
    made = next((b for b in kb.flash_attn_builds() if b.version == release.version), None)
    if made is None:
        return f"{compiler}, unless flash-attn {release.version} has a binary for torch {torch}; that is {UNKNOWN_HERE}"
    series = {Dotted(t).series() for t in made.prebuilt_torch}
    majors = {c.split(".")[0] for c in made.prebuilt_cuda}
    if torch in series and major in majors and target.python in (None, *made.prebuilt_python):
        return None
    on = f" on Python {target.python}" if target.python else ""
    return f"{compiler}: flash-attn {release.version} has no binary for torch {torch} with CUDA {major}{on}"


def _companion(kb: Knowledge, wish: Requirement, name: str, build: Build) -> Iterator[Pick]:
    """torchvision or torchaudio of a torch release, from the same index and build."""
    made = kb.companions(build.version)
    versions = list(made.made_for(name)) if made else []
    first = made.serves_from(name) if made else None
    later = [r for r in kb.package_releases(name) if r.torch != f"=={build.version}"]
    if first:
        versions += [r.version for r in later if Dotted(r.version) >= first]
    if not versions:  # releases that pin no torch (torchaudio 2.11.0)
        versions = [r.version for r in later if not r.torch and Dotted(build.version) >= r.version]
    suits = [v for v in versions if wish.specifier.contains(v, prereleases=True)]
    source = made.source if made else ""
    for version in sorted(suits, key=Version, reverse=True):
        reason = Reason("package", "yes", f"{name} {version} is made for torch {build.version}", source)
        yield Pick(name, version, f"{name}=={version}", reasons=(reason,))
    if versions and not suits:
        text = f"torch {build.version} needs {name} {', '.join(versions)}, not {wish.specifier}"
        yield Pick(name, "", "", reasons=(Reason("package", "no", text, source),))
