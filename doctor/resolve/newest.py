"""Why the newest known releases are not the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from packaging.requirements import Requirement

from doctor.knowledge import Knowledge
from doctor.knowledge.windows import UNKNOWN_HERE
from doctor.resolve.model import Solution
from doctor.resolve.packages import meant


def newer(
    kb: Knowledge, wanted: Sequence[Requirement], found: Solution, search: Callable[[Sequence[Requirement]], Solution]
) -> Iterator[str]:
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
        tried = search([Requirement(f"{name}{extras}=={newest}"), *(w for w in wanted if w is not wish)])
        held = tried.refusals() or tuple(r for r in tried.reasons if r.verdict == "unknown")
        because = held[0].text if held else "it was not tried"
        if held and held[0].kind == "release":
            whose = {"amd": "AMD GPUs", "nvidia": "NVIDIA GPUs"}.get(found.target.vendor or "", "the CPU")
            because = f"a build for {whose} is {UNKNOWN_HERE}"
        if because not in given:
            yield because if because.startswith(f"{name} ") else f"{name} {newest}: {because}"
        given.add(because)
