"""Why the newest known releases are not the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doctor.knowledge import Knowledge
from doctor.knowledge.windows import UNKNOWN_HERE
from doctor.resolve.model import Solution, Target
from doctor.resolve.packages import pick


def newer(
    kb: Knowledge, target: Target, wanted: Sequence[Requirement], found: Solution, tries: Sequence[Solution]
) -> Iterator[str]:
    """Why the newest known release of torch, and of each package, is not the answer: a line for each."""
    free = {canonicalize_name(w.name) for w in wanted if not w.specifier}
    newest = kb.torch_releases()[-1].version
    pinned = any(canonicalize_name(w.name) == "torch" and w.specifier for w in wanted)
    if found.build and not found.build.bundled_by and not pinned and found.build.version != newest:
        of_newest = [t for t in tries if t.build and t.build.version == newest]
        whose = {"amd": "AMD GPUs", "nvidia": "NVIDIA GPUs"}.get(target.vendor or "", "the CPU")
        because = _because(of_newest) or f"a build for {whose} is {UNKNOWN_HERE}"
        yield because if because.startswith("torch ") else f"torch {newest}: {because}"
    for chosen in found.picks:
        known = [r.version for r in kb.package_releases(chosen.package)]
        if known and chosen.version and chosen.version != known[0] and chosen.package in free:
            tried = [t for t in tries if any((p.package, p.version) == (chosen.package, known[0]) for p in t.picks)]
            because = _because(tried) or _against(kb, target, f"{chosen.package}=={known[0]}", found)
            yield because if because.startswith(f"{chosen.package} ") else f"{chosen.package} {known[0]}: {because}"


def _against(kb: Knowledge, target: Target, newest: str, found: Solution) -> str:
    """What speaks against the newest release beside the stack that was found."""
    reasons = pick(kb, target, Requirement(newest), found.build).reasons
    held = [r.text for r in reasons if r.verdict == "no"] or [r.text for r in reasons if r.verdict == "unknown"]
    return held[0] if held else "it was not tried"


def _because(tried: Sequence[Solution]) -> str | None:
    """What speaks against the try that comes nearest."""
    refused = [t for t in tried if t.refusals()]
    return min(refused, key=lambda t: len(t.refusals())).refusals()[0].text if refused else None
