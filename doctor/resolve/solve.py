"""Which stack fits a machine: the newest torch build, with packages that fit it; or why there is none.

Pure functions over the catalogue. The search is over all known builds of torch (a hundred), each with the newest
fitting release of every package that is asked. Where none fits, the machine and the wishes are relaxed one by one: what
would have to change for what was asked, and the nearest stack that runs on the machine as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from doctor.errors import InputError
from doctor.knowledge import Knowledge, store, windows
from doctor.knowledge.overrides import override_of
from doctor.knowledge.windows import UNKNOWN_HERE
from doctor.resolve import device_wheels, machine, torch_builds
from doctor.resolve.command import Tool, commands
from doctor.resolve.model import Build, Change, Pick, Reason, Solution, Target, worst
from doctor.resolve.packages import ALIASES, for_vendor, image_fits, meant, needs_torch, pick
from doctor.resolve.target import comes_with_arm
from doctor.versions import Dotted

_MACHINE = frozenset({"driver", "rocm", "python", "platform"})
"""Kinds of reasons that a change of the machine cures; another GPU is none."""
_PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


def wishes(texts: Sequence[str]) -> tuple[Requirement, ...]:
    """Requirements as pip writes them: `torch`, `torch==2.14.0+cu130`, `jax[cuda13]>=0.9`. What is named twice is one
    wish with all that was asked."""
    found: dict[str, Requirement] = {}
    for wish in map(_wish, texts):
        first = found.setdefault(canonicalize_name(wish.name), wish)
        first.specifier &= wish.specifier
        first.extras |= wish.extras
    return tuple(found.values())


def _wish(text: str) -> Requirement:
    try:
        wish = Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{text}: is no requirement such as torch or 'vllm>=0.20': {reason}") from error
    if wish.url or wish.marker:
        raise InputError(f"{text}: expected a name with or without versions, no URL and no marker")
    return wish


def solve(kb: Knowledge, target: Target, asked: Sequence[str], tool: Tool = "pip") -> Solution:
    """The answer with commands, or with reasons, changes and the nearest stack."""
    wanted = wishes(asked)
    strange = _strange(kb, target, wanted)
    if strange:
        image = _image(kb, target, wanted)
        unknown = Solution("unknown", target, tuple(asked), reasons=strange, nearest=image, knowledge=_release())
        return replace(unknown, differs="a container image instead" if image else "")
    tries: list[Solution] = []
    found = _search(kb, target, wanted, tool, tries)
    if found.status == "solved":
        return replace(found, passed_over=tuple(_newer(kb, wanted, found, tool)))
    own = device_wheels.stack(kb, target, wanted, tool)
    lacks_code = all(any(r.kind == "gpu" for r in tried.refusals()) for tried in tries)
    if own and (own.status == "solved" or lacks_code):
        return replace(own, knowledge=_release())
    if found.status == "unknown" and found.commands:
        return found
    # Advice to change a machine that is not wholly known would be a guess.
    changes = () if machine.unknowns(kb, target) else tuple(_changes(kb, tries, wanted, tool))
    nearest, differs = _nearest(kb, target, wanted, tool)
    return replace(found, changes=changes, nearest=nearest, differs=differs)


def _newer(kb: Knowledge, wanted: Sequence[Requirement], found: Solution, tool: Tool) -> Iterator[str]:
    """A line for torch and for each package of which a newer release is known, by what speaks against the stack that
    comes nearest with that one; a reason is given once."""
    chosen = {"torch": found.build.version} if found.build and not found.build.bundled_by else {}
    chosen |= {p.package: p.version for p in found.picks if p.version}
    given = set()
    for name, version in chosen.items():
        known = [r.version for r in kb.package_releases(name)] or [version]
        newest = kb.torch_releases()[-1].version if name == "torch" else known[0]
        wish = next((w for w in wanted if name in meant(kb, w)), Requirement(name))
        if version == newest or wish.specifier:
            continue
        extras = f"[{','.join(sorted(wish.extras))}]" if wish.extras else ""
        wishes = [Requirement(f"{name}{extras}=={newest}"), *(w for w in wanted if w is not wish)]
        tried = _search(kb, found.target, wishes, tool)
        held = tried.refusals() or tuple(r for r in tried.reasons if r.verdict == "unknown")
        because = held[0].text if held else "it was not tried"
        if held and held[0].kind == "release":
            whose = {"amd": "AMD GPUs", "nvidia": "NVIDIA GPUs"}.get(found.target.vendor or "", "the CPU")
            because = f"a build for {whose} is {UNKNOWN_HERE}"
        if because not in given:
            yield because if because.startswith(f"{name} ") else f"{name} {newest}: {because}"
        given.add(because)


def explain(solution: Solution) -> str:
    """One sentence: what runs, or why not and what would: "torch 2.14.0+cu130 needs driver >= …; the … would run".
    A stack "runs" only if a resolver accepted it and the GPU is named."""
    if solution.status == "solved":
        return f"{solution.stack} {'runs' if solution.is_sure else 'should run'} on {solution.target.words()}"
    first = solution.refusals() or tuple(r for r in solution.reasons if r.verdict == "unknown")
    text = "; ".join(r.text for r in first[:3]) or "nothing fits"
    return f"{text}; closest stack that fits: {solution.nearest.stack}" if solution.nearest else text


def _release() -> dict[str, str]:
    release = store.in_use()
    provenance = {"release": release.version, "as_of": release.as_of}
    return provenance | ({"file": release.file or "", "signer": release.signer or ""} if release.folder else {})


def _strange(kb: Knowledge, target: Target, wanted: Sequence[Requirement]) -> tuple[Reason, ...]:
    """What this version of the catalogue does not know at all: nothing may be concluded from that."""
    found = []
    if target.arch and not kb.knows_arch(target.arch) and not override_of(target.arch.partition(":")[0]):
        found.append(Reason("gpu", "unknown", f"GPU {target.arch} is {UNKNOWN_HERE}"))
    for wish in wanted:
        named = meant(kb, wish)
        elsewhere = next((way for name in named for way in kb.package_ways(name) if way.kind == "none"), None)
        if not named:
            found.append(Reason("package", "unknown", f"{wish.name} is {UNKNOWN_HERE}"))
        elif elsewhere:
            found.append(Reason("package", "unknown", elsewhere.note or "", elsewhere.source, elsewhere.as_of))
        elif not for_vendor(kb, target, named):
            whose = (target.vendor or "").upper()
            found.append(
                Reason(
                    "package",
                    "unknown",
                    f"{wish.name} for {whose} GPUs is {UNKNOWN_HERE}{_counterpart(kb, target, wish)}",
                )
            )
        elif named == ("torch",) and not any(_is_wanted(r.version, wish.specifier) for r in kb.torch_releases()):
            found.append(Reason("release", "unknown", f"torch {wish.specifier} is {UNKNOWN_HERE}"))
    return tuple(found)


def _counterpart(kb: Knowledge, target: Target, wish: Requirement) -> str:
    """`; onnxruntime-migraphx is` of a package that has another name for this vendor's GPUs."""
    others = [name for names in ALIASES.values() if wish.name in names for name in names]
    ways = (way for name in others for way in kb.package_ways(name) if way.kind != "image")
    mine = next((way.package for way in ways if way.vendor == target.vendor), None)
    return f"; {mine} is the package for them" if mine else ""


def _is_wanted(version: str, wanted: SpecifierSet) -> bool:
    bare = SpecifierSet(",".join(str(s).partition("+")[0] for s in wanted))
    return bare.contains(version, prereleases=True)


def _search(
    kb: Knowledge,
    target: Target,
    wanted: Sequence[Requirement],
    tool: Tool,
    tries: list[Solution] | None = None,
) -> Solution:
    """The first candidate that all speaks for; else the first that nothing known speaks against; else the best.
    `tries` takes every candidate that was looked at."""
    best: tuple[tuple[int, int, int], Solution] | None = None
    for place, build in enumerate(_candidates(kb, target, wanted)):
        tried = _tried(kb, target, wanted, build, tool)
        if tries is not None:
            tries.append(tried)
        noes = len(tried.refusals())
        unknowns = sum(r.verdict == "unknown" for r in tried.reasons)
        if not noes and not unknowns:
            return tried
        rank = (noes, unknowns if not noes else 0, place)
        if best is None or rank < best[0]:
            best = (rank, tried)
    if best is None:
        torch = next((w for w in wanted if canonicalize_name(w.name) == "torch"), None)
        text = torch_builds.unmatched(target, str(torch or ", ".join(map(str, wanted))))
        return Solution("impossible", target, tuple(map(str, wanted)), reasons=(Reason("release", "no", text),))
    return best[1]


def _candidates(kb: Knowledge, target: Target, wanted: Sequence[Requirement]) -> Iterator[Build | None]:
    if not any(needs_torch(kb, w) for w in wanted):
        yield None
        return
    torch = next((w for w in wanted if canonicalize_name(w.name) == "torch"), None)
    for build in torch_builds.builds(kb, target):
        if torch is None or (_is_wanted(build.version, torch.specifier) and _tag_wanted(build, torch.specifier)):
            yield build
    if torch and torch.specifier:
        return
    for wish in wanted:
        for name in meant(kb, wish):
            for way in kb.package_ways(name):
                if way.torch == "bundled" and way.vendor in ("any", target.vendor) and way.latest:
                    yield Build("", f"rocm{way.rocm[0]}" if way.rocm else "", bundled_by=name)


def _tag_wanted(build: Build, wanted: SpecifierSet) -> bool:
    tags = {str(s).partition("+")[2] for s in wanted} - {""}
    return not tags or build.tag in tags


def _tried(kb: Knowledge, target: Target, wanted: Sequence[Requirement], build: Build | None, tool: Tool) -> Solution:
    reasons = list(machine.judge(kb, target))
    reasons += torch_builds.judge(target, build) if build and not build.bundled_by else ()
    others = [w for w in wanted if canonicalize_name(w.name) != "torch"]
    picks = tuple(pick(kb, target, wish, build) for wish in others)
    for chosen in picks:
        reasons += chosen.reasons
    verdict = worst(reasons)
    asked = tuple(map(str, wanted))
    if verdict == "no":
        return Solution("impossible", target, asked, build, picks, reasons=tuple(reasons), knowledge=_release())
    driver = None if target.driver or target.rocm else machine.driver_needed(kb, target, build, picks)
    needs = [n for n in (driver, *(p.needs for p in picks)) if n]
    return Solution(
        "solved" if verdict == "yes" else "unknown",
        target,
        asked,
        build,
        picks,
        commands=commands(target, build, picks, tool) if all(p.requirement for p in picks) else (),
        reasons=tuple(reasons),
        needs=tuple(dict.fromkeys(needs)),
        knowledge=_release(),
    )


def _changes(kb: Knowledge, tries: Sequence[Solution], wanted: Sequence[Requirement], tool: Tool) -> Iterator[Change]:
    """What of the machine would have to change for exactly what was asked: by the candidates that nothing but the
    machine speaks against, those with the fewest changes."""
    seen: list[frozenset[str]] = []
    known = [t for t in tries if not any(r.verdict == "unknown" and r.kind == "package" for r in t.reasons)]
    curable = [(frozenset(r.kind for r in t.refusals()), t) for t in known]
    curable = [(kinds, t) for kinds, t in curable if kinds and kinds <= _MACHINE]
    for kinds, tried in sorted(curable, key=lambda pair: len(pair[0])):
        if any(fewer <= kinds for fewer in seen):
            continue
        made = _changed(kb, tried, kinds, wanted, tool)
        if made:
            seen.append(kinds)
            yield made


def _changed(
    kb: Knowledge, tried: Solution, kinds: frozenset[str], wanted: Sequence[Requirement], tool: Tool
) -> Change | None:
    """The candidate on a machine with those things changed; None where that does not do either."""
    target, parts = tried.target, []
    if kinds & {"driver", "rocm"}:
        target = replace(target, driver=None, rocm=None)
    if "platform" in kinds:
        made = _platform(kb, tried, wanted, tool)
        if made is None:
            return None
        target = replace(made, driver=target.driver, rocm=target.rocm)
        same = target.machine == tried.target.machine
        glibc = f"glibc >= {target.glibc} instead of {tried.target.glibc or tried.target.libc}"
        parts.append(glibc if same else f"x86_64 instead of {tried.target.machine}")
    for python in _other_pythons(target.python) if "python" in kinds else [target.python]:
        got = _tried(kb, replace(target, python=python), wanted, tried.build, tool)
        if not got.refusals():
            break
    else:
        return None
    if "driver" in kinds:
        first = windows.driver_branches_of(kb, target.arch)[0] if target.vendor == "nvidia" else None
        least = f"NVIDIA driver >= {first}" if first else "another driver"
        need = machine.driver_needed(kb, target, got.build, got.picks) or least
        parts.append(f"{need} instead of {tried.target.driver or tried.target.rocm}")
    if "rocm" in kinds:
        need = next(windows.ranged(p.rocm) for p in got.picks if p.rocm)
        parts.append(f"ROCm {need} instead of {tried.target.rocm}")
    if "python" in kinds:
        parts.append(f"Python {got.target.python} instead of {tried.target.python}")
    return Change(", and ".join(parts), got.stack)


def _platform(kb: Knowledge, tried: Solution, wanted: Sequence[Requirement], tool: Tool) -> Target | None:
    """The machine with the processor, else the oldest C library, that has wheels; None where it can't have them."""
    here = tried.target
    minor = Dotted(here.glibc or "2.16").numbers[1]
    glibcs = (replace(here, glibc=f"2.{newer}", libc="glibc") for newer in range(minor + 1, _NEWEST_GLIBC + 1))
    arm = comes_with_arm(here.arch, here.gpu)
    for other in (*([] if arm else [replace(here, machine="x86_64")]), *glibcs):
        if not any(r.kind == "platform" for r in _tried(kb, other, wanted, tried.build, tool).refusals()):
            return other
    return None


_NEWEST_GLIBC = 43
"""Of 2026."""


def _other_pythons(python: str | None) -> list[str]:
    here = _PYTHONS.index(python) if python in _PYTHONS else 3
    return sorted((p for p in _PYTHONS if p != python), key=lambda p: abs(_PYTHONS.index(p) - here))


def _nearest(kb: Knowledge, target: Target, wanted: Sequence[Requirement], tool: Tool) -> tuple[Solution | None, str]:
    """The stack that runs on this machine and gives up least: another build, another release, a package less, an image,
    at last the CPU build of torch."""
    for differs, fewer in _fewer(wanted):
        if differs == "torch alone":
            if image := _image(kb, target, wanted):
                return image, "a container image instead"
            if not any(needs_torch(kb, w) for w in wanted):
                continue
        got = _search(kb, target, fewer, tool)
        if got.status == "solved":
            return got, differs
    if any(needs_torch(kb, w) for w in wanted):
        got = _search(kb, replace(target, vendor=None, arch=None), (Requirement("torch"),), tool)
        if got.status == "solved":
            return (
                got,
                "torch for the CPU, as no known build runs on this GPU with this Python and system",
            )
    return None, ""


def _image(kb: Knowledge, target: Target, wanted: Sequence[Requirement]) -> Solution | None:
    """The first container image that holds a package for this GPU and driver."""
    for way in (way for wish in wanted for name in meant(kb, wish) for way in kb.package_ways(name)):
        if way.kind == "image" and image_fits(kb, target, way):
            chosen = Pick(way.package, way.latest or "", "", image=way.image)
            got = Solution("solved", target, tuple(map(str, wanted)), picks=(chosen,), knowledge=_release())
            return replace(got, commands=(("docker", "pull", way.image or ""),))
    return None


def _fewer(wanted: Sequence[Requirement]) -> Iterator[tuple[str, tuple[Requirement, ...]]]:
    """Ever less of what was asked, each with what it gives up."""
    same_release = tuple(_bare(w, keep_release=True) for w in wanted)
    if same_release != tuple(wanted):
        yield "another build of the same release", same_release
    free = tuple(_bare(w) for w in wanted)
    if free != tuple(wanted):
        yield "other releases or extras than those that were asked", free
    for dropped in reversed(free):
        if canonicalize_name(dropped.name) == "torch" or len(free) < 2:
            continue
        rest = tuple(w for w in wanted if w.name != dropped.name)
        yield f"without {dropped.name}", rest
        yield f"without {dropped.name}, other releases", tuple(_bare(w) for w in rest)
    yield "torch alone", (Requirement("torch"),)


def _bare(wish: Requirement, *, keep_release: bool = False) -> Requirement:
    """Without its build tag, or without any version and extra."""
    if not keep_release:
        return Requirement(wish.name)
    kept = ",".join(str(s).partition("+")[0] for s in wish.specifier)
    extras = f"[{','.join(sorted(wish.extras))}]" if wish.extras else ""
    return Requirement(f"{wish.name}{extras}{kept}")
