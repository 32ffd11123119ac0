"""Profiles as lines of text: a whole one, how they were matched, and how an expectation came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doctor.profiles.expectation import plain

if TYPE_CHECKING:
    from doctor.findings import Judged
    from doctor.profiles import Profile, Ranking
    from doctor.profiles.pairs import Pair
    from doctor.profiles.parts import Baseline, ImageWish


def matrix(pairs: list[tuple[Pair, Profile]]) -> list[str]:
    """A table of stacks and boards for each vendor, with a letter for the status of the two together."""
    lines = ["BOARD+STACK is a profile, such as " + pairs[0][0].name + "." if pairs else "There are no stacks."]
    for vendor, title in (("amd", "AMD"), ("nvidia", "NVIDIA")):
        mine = [(pair, profile) for pair, profile in pairs if profile.hardware.vendor == vendor]
        boards = list(dict.fromkeys(pair.board for pair, _ in mine))
        if not mine:
            continue
        width = max(len(pair.stack) for pair, _ in mine)
        lines += ["", f"{title:<{width}}  {'  '.join(boards)}"]
        for stack in dict.fromkeys(pair.stack for pair, _ in sorted(mine, key=lambda row: row[0].stack)):
            statuses = {pair.board: profile.status for pair, profile in mine if pair.stack == stack}
            cells = (f"{_LETTERS[statuses[board]] if board in statuses else '-':<{len(board)}}" for board in boards)
            lines.append(f"{stack:<{width}}  {'  '.join(cells)}".rstrip())
    return [*lines, "", *(f"{letter}  {words}" for letter, words in _LEGEND if pairs)]


_LETTERS = {
    "vendor-matrix": "V", "wheels-exist": "W", "resolved": "R", "built": "B", "run-here": "H", "community": "C",
    "captured": "N",
}  # fmt: skip
_LEGEND = (
    ("V", "vendor-matrix: the vendor's own table or guide lists this set"),
    ("W", "wheels-exist: its wheels are published; no table of a vendor lists them together"),
    ("R", "resolved: a resolver accepted its packages together (`doctor profiles show` says when)"),
    ("C", "community: people report that it works"),
    ("-", "there is no such profile"),
)


def matched(ranking: Ranking) -> list[str]:
    lines = [f"{ranking.chosen.name}: {ranking.why}" if ranking.chosen else ranking.why]
    others = [c for c in ranking.candidates if not ranking.chosen or c.name != ranking.chosen.name]
    fitting = [f"  {c.name}: {c.order}" for c in others if c.fits]
    lines += ["", "Also fit, in this order:", *fitting] if fitting else []
    reasons: dict[str, list[str]] = {}
    for candidate in others:
        if not candidate.fits:
            reasons.setdefault(candidate.reason, []).append(candidate.name)
    lines += ["", "Do not fit:", *(f"  {why}: {', '.join(names)}" for why, names in reasons.items())] if reasons else []
    return lines


def judged_line(row: Judged) -> str:
    """`holds     host.numa_balancing: 0; here 0 (vendor-matrix, 2025-10-02)`"""
    return f"{row.outcome:<9} {row.fact}: {row.wants}; here {row.found or 'not known'} ({row.status}, {row.as_of})"


def shown(profile: Profile) -> list[str]:
    """A whole profile: each value, why it is so, and its status."""
    parts = f"Extends: {', '.join(profile.extends) or 'nothing'}. For: {profile.workload}. Order: {profile.order}."
    hardware = profile.hardware.model_dump(exclude_none=True)
    behind = f", {profile.evidence.as_of}: {profile.evidence.url}" if profile.evidence else ""
    lines = [f"{profile.name}: {profile.about}", f"Status: {profile.status}{behind}", parts, "", "Hardware"]
    lines += [f"  {key}: {_listed(value)}" for key, value in hardware.items() if value not in ((), None)]
    lines += ["", "Expects"]
    for e in profile.expect:
        when = f", when {e.when.fact} is {_listed(e.when.one_of or plain(e.when.equals))}" if e.when else ""
        lines += [f"  {e.fact}: {e.wants}{when} ({e.severity or 'as the rule'})", *_why(e)]
    lines += ["", "Flags"] if profile.flag else []
    for f in profile.flag:
        lines += [f"  {f.name}={f.value} ({f.kind}){_only(f.only)}", *_why(f)]
    lines += ["", "Needs of a container"] if profile.need else []
    for n in profile.need:
        lines += [f"  {n.kind} {n.value}{_only(n.only)}", *_why(n)]
    return [*lines, *_image(profile.image), *_baselines(profile.baseline)]


def _image(image: ImageWish | None) -> list[str]:
    if image is None:
        return []
    if image.ready:
        return ["", f"Image: {image.ready}, used as it is"]
    lines = ["", f"Image: base {image.base or '-'}, Python {image.python or '-'}, targets {_listed(image.targets)}"]
    for p in image.pip:
        version = f"=={p.full}" if p.full else ""
        lines += [f"  pip {p.name}{version} from {p.index or 'the default index'}", *_why(p)]
    for a in image.apt:
        lines += [f"  apt {a.name}={a.version}" if a.version else f"  apt {a.name}", *_why(a)]
    return lines


def _baselines(rows: tuple[Baseline, ...]) -> list[str]:
    if not rows:
        return ["", "No baseline: no source gives a number with all that belongs to it."]
    lines = ["", "Baselines"]
    for b in rows:
        number = f"at least {b.value.floor:g}" if b.value.floor is not None else f"{b.value.p50:g} (median)"
        lines += [f"  {b.what}: {number} {b.value.unit}, {b.library}", f"    {b.method}", f"    {_source(b)}"]
    return lines


def _only(words: str | None) -> str:
    return f", only where {words}" if words else ""


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _why(row: Any) -> list[str]:
    return [f"    {row.why}", f"    {_source(row)}"]


def _source(row: Any) -> str:
    return f"{row.source.status}, {row.source.as_of}: {row.source.url}"
