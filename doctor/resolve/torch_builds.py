"""Builds of torch, the newest first, and whether a machine can run one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.knowledge import Knowledge, TorchBuild, windows
from doctor.knowledge.gfx_support import lacks_rocblas
from doctor.knowledge.store import kept
from doctor.knowledge.windows import UNKNOWN_HERE, Answer
from doctor.resolve.model import IN_TREE, Build, Reason, Target
from doctor.versions import Dotted

_BEFORE_ORIN = ("sm_53", "sm_62", "sm_72")
"""Jetson Nano, TX2 and Xavier end with JetPack 4 and 5, whose CUDA is their own (NVIDIA's JetPack archive, 2026-08)."""


def builds(kb: Knowledge, target: Target) -> Iterator[Build]:
    """Every known build for the vendor's GPUs: the newest release first, in it the plain wheel, then by CUDA or ROCm.
    A ROCm build of the machine's own series goes before newer ones. Without a vendor: the CPU builds."""
    mine = Dotted(target.rocm or "").series()
    for release in reversed(kb.torch_releases()):
        if target.vendor == "nvidia":
            plain = plain_tag(release, target.machine)
            tags = {*release.cuda_variants, *([plain] if plain else [])}
            newest_first = sorted(tags, key=lambda tag: (tag != plain, -int(tag[2:])))
            yield from (Build(release.version, tag, plain=tag == plain) for tag in newest_first)
        elif target.vendor == "amd":
            known = sorted(release.rocm_variants, key=lambda v: (v == mine, Dotted(v).numbers), reverse=True)
            yield from (Build(release.version, f"rocm{version}") for version in known)
        else:
            yield Build(release.version, "cpu")


def unmatched(target: Target, wanted: str) -> str:
    """Why no build is left of those that were asked for: `torch==2.14.0+cu130` on a GPU of AMD is of the other kind."""
    tag = wanted.partition("+")[2]
    whose = "AMD" if tag.startswith("rocm") else "NVIDIA" if tag.startswith("cu") else None
    mine = {"amd": "AMD", "nvidia": "NVIDIA"}.get(target.vendor or "")
    if whose and mine and whose != mine:
        return f"{wanted} is built for {whose} GPUs, and {target.gpu or target.arch or 'the GPU'} is from {mine}"
    if whose and not mine:
        return f"{wanted} is built for {whose} GPUs, and no GPU was named"
    return f"no build of torch that matches {wanted} is {UNKNOWN_HERE[4:]}"


def plain_tag(release: TorchBuild, machine: str) -> str | None:
    """`cu130` of the wheel that `pip install torch` takes; None where that one is CPU-only."""
    cuda = release.default_cuda if machine == "x86_64" else release.default_cuda_aarch64
    return f"cu{cuda.replace('.', '')}" if cuda else None


def judge(target: Target, build: Build) -> tuple[Reason, ...]:
    """Everything that speaks for or against a build on a machine. A search asks the same often."""
    return _judged(replace(target, interpreter=None, gpu=None, os=None, os_version=None), build)


@kept
def _judged(target: Target, build: Build) -> tuple[Reason, ...]:
    kb = Knowledge()
    release = kb.torch_build(build.version)
    if release is None:
        return (Reason("release", "unknown", f"torch {build.version} is {UNKNOWN_HERE}"),)
    reasons = [*_gpu(kb, target, build), *_driver(kb, target, build)]
    if target.python:
        reasons.append(Reason.of("python", python_serves(release, target.python), build.words))
    if build.rocm and target.machine != "x86_64":
        text = f"{build.words}: it is built for x86_64, not for {target.machine}"
        reasons.append(Reason("platform", "no", text, release.source, release.as_of))
    platforms = [p for p in release.platforms if p.endswith(target.machine)] if release.platforms else []
    if release.platforms:
        tags = platforms or list(release.platforms)
        answer = windows.glibc_serves(tags, target.machine, target.glibc, release.source, target.libc)
        reasons.append(Reason.of("platform", answer, build.words))
    return tuple(reasons)


def python_serves(release: TorchBuild, python: str) -> Answer:
    """Whether a torch release has wheels for a Python (`3.12`, `3.13t`)."""
    tag = "cp" + python.replace(".", "")
    if not release.pythons:
        return Answer("unknown", f"which Pythons torch {release.version} supports is {UNKNOWN_HERE}")
    listed = ", ".join(f"{p[2:3]}.{p[3:]}" for p in release.pythons)
    fits = tag in release.pythons
    reason = f"its wheels are for Python {listed}" + ("" if fits else f", not {python}")
    return Answer("yes" if fits else "no", reason, release.source, release.as_of)


def _gpu(kb: Knowledge, target: Target, build: Build) -> Iterator[Reason]:
    if not target.arch or build.tag == "cpu":
        return
    if (dropped := windows.cuda_has_gpu(kb, build.cuda, target.arch)).no:
        yield Reason.of("gpu", dropped, build.words)
        return
    if target.arch in _BEFORE_ORIN:
        text = f"{build.words}: wheels for Arm servers need JetPack 7 or newer, which {target.arch} does not have"
        yield Reason("gpu", "no", text)
        return
    archs = kb.torch_archs(build.version, build.tag, target.machine)
    answer = windows.code_runs(kb, target.arch, archs, build.cuda) if archs else _by_neighbours(kb, target, build)
    if not answer.source and (release := kb.torch_build(build.version)):
        answer = replace(answer, source=release.source, as_of=release.as_of)
    yield Reason.of("gpu", answer, build.words)
    if build.rocm and lacks_rocblas(target.arch, build.rocm):
        text = f"{build.words}: rocBLAS of ROCm 6.4 and newer has no kernels for {target.arch}"
        yield Reason("gpu", "no", text, "github.com/pytorch/pytorch/issues/179865", "2026-04")


def _by_neighbours(kb: Knowledge, target: Target, build: Build) -> Answer:
    """The list of this build is not known: the same build of the releases before and after, and the builds before and
    after in the same release, decide where at least two are known and all agree. The former two alone do, too."""
    others: dict[str, windows.Verdict] = {}
    same_tag: list[windows.Verdict] = []
    source = ""
    for near in _neighbours(kb, build, target.machine):
        archs = kb.torch_archs(near.version, near.tag, target.machine)
        if archs:
            verdict = windows.code_runs(kb, target.arch, archs, near.cuda).verdict
            others[near.words.removeprefix("torch ")] = verdict
            same_tag += [verdict] if near.tag == build.tag else []
            entry = kb.torch_build(near.version)
            source = source or (entry.source if entry else "")
    if len(same_tag) == 2 and len(set(same_tag)) == 1:
        others = dict(list(others.items())[:2])
    verdicts = set(others.values())
    if len(others) < 2 or len(verdicts) != 1:
        return Answer("unknown", f"which GPUs it has code for is {UNKNOWN_HERE}")
    verdict = verdicts.pop()
    has = "all have" if verdict == "yes" else "have no"
    return Answer(verdict, f"its own list is {UNKNOWN_HERE}; {', '.join(others)} {has} code for {target.arch}", source)


def _neighbours(kb: Knowledge, build: Build, machine: str) -> Iterator[Build]:
    """For a CUDA build those of the same tag; for a ROCm build any of the release, since each has its own ROCm."""
    known = [r for r in kb.torch_releases() if r.version != build.version]
    for releases in (reversed([r for r in known if Dotted(r.version) < build.version]),
                     iter([r for r in known if Dotted(r.version) > build.version])):  # fmt: skip
        for release in releases:
            tags = [t for t in release.archs if (t == build.tag if build.cuda else t.startswith("rocm"))]
            if tags and release.archs[tags[-1]].get(machine, release.archs[tags[-1]].get("any")):
                yield Build(release.version, tags[-1])
                break
    entry = kb.torch_build(build.version)
    if build.cuda and entry:
        tags = sorted((t for t in entry.archs if t.startswith("cu")), key=lambda t: int(t[2:]))
        mine = int(build.tag[2:])
        yield from (Build(build.version, t) for t in [t for t in tags if int(t[2:]) < mine][-1:])
        yield from (Build(build.version, t) for t in [t for t in tags if int(t[2:]) > mine][:1])


def _driver(kb: Knowledge, target: Target, build: Build) -> Iterator[Reason]:
    if build.cuda and target.driver:
        yield Reason.of("driver", windows.driver_serves_cuda(kb, target.driver, build.cuda, target.arch), build.words)
    elif build.rocm and target.driver == IN_TREE:
        return  # doctor.resolve.machine says what is not known of it
    elif build.rocm and (target.driver or target.rocm):
        yield amdgpu_serves(kb, target, build.rocm, build.words)


def amdgpu_serves(kb: Knowledge, target: Target, rocm: str, about: str = "") -> Reason:
    """Whether the machine's amdgpu driver serves a ROCm user space. Where only the installed ROCm is known, the driver
    is taken to be the one that ships with it."""
    driver = target.driver or windows.driver_of_rocm(kb, target.rocm)
    if not target.driver and Dotted(target.rocm or "").series() == Dotted(rocm).series():
        return Reason.of("driver", Answer("yes", f"ROCm {target.rocm} is installed"), about)
    answer = windows.kmd_serves_rocm(kb, driver, rocm, target.arch)
    taken = "" if target.driver else f" (the driver is taken to be that of ROCm {target.rocm})"
    return Reason.of("driver", replace(answer, reason=answer.reason + taken), about)
