"""One check from start to end: probes, profile, rules, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from doctor.diagnosis import registry
from doctor.diagnosis.allow import Allowed
from doctor.diagnosis.gather import TOTAL_S, gather
from doctor.diagnosis.judge import judge
from doctor.findings import Report

if TYPE_CHECKING:
    from doctor.diagnosis.recording import Recording
    from doctor.profiles import Profile
    from doctor.system.base import System

__all__ = ["Options", "examine", "judge"]


@dataclass(frozen=True)
class Options:
    """What a check is asked. `profile` is the one the user named; without it one is matched, and none is fine.
    `only` and `skip` are rule ids and tags; `source` is what was judged, when it is not this machine."""

    profile: Profile | None = None
    match_profile: bool = True
    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    allowed: Sequence[Allowed] = ()
    source: str | None = None
    python: str | None = None
    """The interpreter that the user named."""
    total_s: float = TOTAL_S
    probes: Sequence[registry.Probe] | None = None
    checks: Sequence[registry.Check] | None = None
    record: Recording | None = None
    """Takes what the probes read, for a bundle."""


def examine(system: System, options: Options) -> Report:
    """Asks the machine everything, within `total_s` seconds, and judges the answers."""
    from doctor.diagnosis.identify import identify
    from doctor.knowledge import Knowledge

    probes = registry.probes() if options.probes is None else options.probes
    if options.python:
        probes = [
            replace(p, run=partial(p.run, python=options.python)) if p.name == "python_env" else p for p in probes
        ]
    kb = Knowledge()
    # The rules are imported while the probes wait for the machine.
    machine = identify(gather(system, probes, options.total_s, options.record, registry.checks).machine, kb)
    profile, why = options.profile, "named by --profile"
    if profile is None and options.match_profile and machine.gpus:
        from doctor.profiles import match

        profile, why = match(machine)
    return judge(
        machine,
        kb,
        profile,
        checks=options.checks,
        only=options.only,
        skip=options.skip,
        allowed=options.allowed,
        source=options.source,
        chosen="named" if options.profile else "matched",
        why=why,
    )
