"""Which remedies of a finding are offered: not what is already so, not what the facts deny, not another vendor's.

A remedy that does not say how it is undone, or what holds afterwards, gets both from its commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from doctor.facts import Snapshot
from doctor.findings import Expect, Finding, Remedy, Step
from doctor.rules.lib.command_effects import changes, effect_of, starts_again, undo_of
from doctor.versions import Dotted


def remedies_of(finding: Finding, machine: Snapshot) -> tuple[Remedy, ...]:
    """The finding's own, best first, without those that are no use here."""
    return tuple(offered(finding.remedies, machine))


def offered(remedies: Iterable[Remedy], machine: Snapshot) -> Iterator[Remedy]:
    """Those that the facts leave, each with its undo and effect."""
    vendors = {gpu.vendor for gpu in machine.gpus or ()} & {"amd", "nvidia"}
    for remedy in remedies:
        fit = _fitted(remedy, machine)
        if fit is None:
            continue
        whole = completed(fit, machine)
        if whole.vendor and vendors and whole.vendor not in vendors:
            continue
        if any(holds(need, machine) is False for need in whole.needs):
            continue
        if whole.effect and all(holds(one, machine) is True for one in whole.effect):
            continue
        yield whole


def _fitted(remedy: Remedy, machine: Snapshot) -> Remedy | None:
    """In the words of this system: RHEL 7 and its kin install with yum; Windows has `python` and no `env`, and None is
    left there of what needs Linux."""
    system = machine.os
    on_windows = system.id == "windows" and not machine.host.wsl
    with_yum = system.id in ("rhel", "centos", "ol") and (system.version or "").partition(".")[0] == "7"
    if not on_windows and not with_yum:
        return remedy
    steps = []
    for step in remedy.steps:
        argv = step.command or ()
        if with_yum and argv[:2] == ("dnf", "install"):
            argv = ("yum", *argv[1:])
        elif on_windows:
            argv = ("python", *argv[1:]) if argv[:1] == ("python3",) else () if argv[:1] == ("env",) else argv
            if argv and argv[0] not in _ON_WINDOWS and not argv[0].lower().endswith("python.exe"):
                return None
        steps.append(step.model_copy(update={"command": argv or None}))
    return remedy.model_copy(update={"steps": tuple(steps)})


_ON_WINDOWS = ("python", "docker", "nvidia-smi", "wsl.exe", "doctor")


def completed(remedy: Remedy, machine: Snapshot) -> Remedy:
    """With the undo of its commands, last first, and with the effect of the one command that changes something."""
    commands = [step.command for step in remedy.steps if step.command]
    known: dict[str, tuple[Step, ...] | tuple[Expect, ...]] = {}
    if not remedy.undo:
        kept = lasting(remedy)
        acts = [(s, s.command) for s in reversed(remedy.steps) if s.command and s.command in kept]
        undone = ((undo_of(command, machine), step.where) for step, command in acts)
        known["undo"] = tuple(dict.fromkeys(u.model_copy(update={"where": where}) for u, where in undone if u))
    if not remedy.effect:
        acting = [argv for argv in commands if changes(argv) or effect_of(argv)]
        known["effect"] = effect_of(acting[0]) if len(acting) == 1 else ()
    return remedy.model_copy(update=known) if known else remedy


def lasting(remedy: Remedy) -> list[tuple[str, ...]]:
    """Its commands that leave something changed: not those that start again what was there."""
    commands = [step.command for step in remedy.steps if step.command]
    again = _loaded_again(commands)
    return [argv for argv in commands if changes(argv) and not starts_again(argv) and argv not in again]


def _loaded_again(commands: Sequence[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Commands that unload kernel modules, and those that load one of them again: together they leave what was."""
    calls = [(argv, "-r" in argv or "--remove" in argv, set(argv[1:])) for argv in commands if argv[0] == "modprobe"]
    gone = [(argv, names) for argv, removes, names in calls if removes]
    back = [(argv, names) for argv, removes, names in calls if not removes]
    return {argv for out, some in gone for into, one in back if some & one for argv in (out, into)}


def holds(expect: Expect, machine: Snapshot) -> bool | None:
    """None where the fact is not known."""
    if expect.absent is not None:
        return _absent(expect.fact, machine, wanted=expect.absent)
    value = machine.get(expect.fact)
    if value is None:
        return False if _is_missing(expect.fact, machine) else None
    if expect.has is not None:
        return expect.has in (value.split() if isinstance(value, str) else value)
    if expect.at_least is not None:
        return not Dotted(str(value)) < expect.at_least
    return bool(value == expect.equals)


_MEMBER = re.compile(r"(environment)\[[^\]]*\]")


def _is_missing(fact: str, machine: Snapshot) -> bool:
    """Whether a variable is surely not set: a pasted text shows some of them only."""
    listed = _MEMBER.fullmatch(fact)
    return (
        listed is not None
        and machine.environment is not None
        and not machine.source("environment").startswith("text")
        and machine.get(fact) is None
    )


def _absent(fact: str, machine: Snapshot, *, wanted: bool) -> bool | None:
    """Whether a variable is not set (or, where `wanted` is False, set); None where that is not known."""
    if machine.get(fact) is not None:
        return not wanted
    return wanted if _is_missing(fact, machine) else None
