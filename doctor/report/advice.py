"""The remedies of a rule on each distribution, for its page: systems that get the same ones are listed together."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterator

from doctor.facts import Snapshot
from doctor.facts.host import Os
from doctor.findings import Remedy
from doctor.report.words import cost

_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD"}
SYSTEMS = {
    "Ubuntu 24.04": Os(id="ubuntu", version="24.04", id_like="debian"),
    "Debian 12": Os(id="debian", version="12"),
    "RHEL 9": Os(id="rhel", version="9.6", id_like="fedora"),
    "Fedora 44": Os(id="fedora", version="44"),
    "SLES 15": Os(id="sles", version="15.7", id_like="suse"),
    "Arch": Os(id="arch"),
}


def commands(advice: Callable[[Snapshot], tuple[Remedy, ...]], width: int) -> str:
    """The section `## Commands`, each command unbroken on a line of its own; empty where only facts of a machine tell
    the remedies."""
    pages: dict[tuple[Remedy, ...], list[str]] = {}
    for name, system in SYSTEMS.items():
        offered = (remedy.model_copy(update={"for_": None}) for remedy in advice(Snapshot(os=system)))
        pages.setdefault(tuple(offered), []).append(name)
    if not any(pages):
        return ""
    lines = ["## Commands"]
    for remedies, names in pages.items():
        lines += ["", f"{', '.join(names)}:"] if len(pages) > 1 else [""]
        several = len({remedy.vendor for remedy in remedies}) > 1
        for letter, remedy in zip("ABCDEFGH", remedies, strict=False):
            whose = f"{_VENDORS[remedy.vendor]}: " if several and remedy.vendor else ""
            lines += _remedy((f"{letter}. " if len(remedies) > 1 else "") + whose, remedy, width)
    return "\n".join(lines) + "\n"


def _remedy(letter: str, remedy: Remedy, width: int) -> Iterator[str]:
    yield from _wrapped(f"{letter}{remedy.title.rstrip('.')} ({cost(remedy)})", "- ", width)
    for step in remedy.steps:
        if step.text != remedy.title:
            yield from _wrapped(step.text, "  ", width)
        if step.command:
            yield f"    {shlex.join(step.command)}"
    if remedy.risk:
        yield from _wrapped(f"Risk: {remedy.risk}", "  ", width)
    for step in remedy.undo:
        yield from _wrapped(f"Undo: {shlex.join(step.command) if step.command else step.text}", "  ", width)


def _wrapped(text: str, start: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
