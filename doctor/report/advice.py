"""The remedies of a rule on each distribution, for its page: systems that get the same ones are listed together. Those
that hang on the GPU are shown for two examples."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping

from doctor.facts import Snapshot
from doctor.facts.drivers import NvidiaDriver
from doctor.facts.gpu import Gpu
from doctor.facts.host import Os
from doctor.facts.python import Interpreter
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


_VENV = Interpreter(path="python3")


def with_gpu(vendor: str, arch: str, name: str | None = None) -> Snapshot:
    """A machine with that GPU, a driver for it, and an environment without torch."""
    gpu = Gpu(key="0000:01:00.0", vendor=vendor, arch=arch, name=name)
    driver = NvidiaDriver(version="580.95.05", cuda_version="13.0") if vendor == "nvidia" else NvidiaDriver()
    return Snapshot(gpus=(gpu,), nvidia_driver=driver, interpreter=_VENV)


EXAMPLES = {
    "RX 6700 XT (gfx1031; `doctor explain gfx1103` for another)": with_gpu("amd", "gfx1031", "RX 6700 XT"),
    "RTX 5090 (sm_120) with driver 580": with_gpu("nvidia", "sm_120", "RTX 5090"),
}


def commands(advice: Callable[[Snapshot], tuple[Remedy, ...]], width: int) -> str:
    """The section `## Commands`, each command unbroken on its own line; empty where only facts tell."""
    systems = {name: Snapshot(os=system) for name, system in SYSTEMS.items()}
    return section(advice, systems, width) or section(advice, EXAMPLES, width)


def section(advice: Callable[[Snapshot], tuple[Remedy, ...]], machines: Mapping[str, Snapshot], width: int) -> str:
    """The same for named machines; those without a remedy are left out."""
    pages: dict[tuple[Remedy, ...], list[str]] = {}
    for name, machine in machines.items():
        offered = tuple(remedy.model_copy(update={"for_": None}) for remedy in advice(machine))
        if offered:
            pages.setdefault(offered, []).append(name)
    if not pages:
        return ""
    lines = ["## Commands"]
    for remedies, names in pages.items():
        everywhere = len(names) == len(machines)
        lines += [""] if everywhere else ["", f"{', '.join(names)}:"]
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
