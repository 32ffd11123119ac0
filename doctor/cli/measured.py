"""What commands share: the machine's facts, the Python that may be run, and findings of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.engine.registry import Probe
    from doctor.facts import Snapshot
    from doctor.findings import Report
    from doctor.profiles import Profile
    from doctor.system.base import System


def facts(system: System, python: str | None = None, probes: Sequence[Probe] | None = None) -> Snapshot:
    """All that a check would know, or what these probes find."""
    from doctor.cli.waiting import waiting
    from doctor.engine import registry
    from doctor.engine.gather import gather
    from doctor.engine.identify import identify
    from doctor.engine.run import of_python
    from doctor.knowledge import Knowledge

    with waiting("Reading this machine"):
        return identify(gather(system, of_python(probes or registry.probes(), python)).machine, Knowledge())


def interpreter(machine: Snapshot) -> str:
    """The user's Python, which may be run: as root, nothing that others can write. Raises InputError."""
    from doctor.errors import InputError
    from doctor.system.user_python import trusted

    path = machine.interpreter.path
    if path is None:
        raise InputError("Python was not found; pass the interpreter that has torch with --python")
    if machine.torch.installed is False or machine.torch.version is None:
        raise InputError(f"{path} has no torch; pass the interpreter that has it with --python")
    python = f"/{path.lstrip('/')}"
    location = machine.torch.location
    trusted(python, *([f"/{location.lstrip('/')}"] if location else []))
    return python


def report_of(machine: Snapshot, facts: dict[str, Any], profile: Profile | None = None) -> Report:
    """The machine with facts that were just made, and the findings of the rules that judge such facts."""
    from doctor.engine.judge import judge
    from doctor.facts import Origin, State
    from doctor.knowledge import Knowledge

    made = {name: Origin(state=State.VALUE, source=f"measured:{name}") for name in facts}
    known = machine.model_copy(update={**facts, "origins": {**machine.origins, **made}})
    return judge(known, Knowledge(), profile, only=("bench",))
