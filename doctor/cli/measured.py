"""What `doctor blas` and `doctor bench` share: the machine's facts, the Python that may be run, and findings of what
was measured."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.facts import Snapshot
    from doctor.findings import Report
    from doctor.profiles import Profile
    from doctor.system.base import System


def facts(system: System, python: str | None) -> Snapshot:
    """All that a check would know."""
    from dataclasses import replace
    from functools import partial

    from doctor.engine import registry
    from doctor.engine.gather import gather
    from doctor.engine.identify import identify
    from doctor.knowledge import Knowledge

    probes: Sequence[registry.Probe] = registry.probes()
    if python:
        probes = [replace(p, run=partial(p.run, python=python)) if p.name == "python_env" else p for p in probes]
    return identify(gather(system, probes).machine, Knowledge())


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


def say(line: str) -> None:
    """Progress goes to stderr, and only where somebody watches."""
    if sys.stderr is not None and sys.stderr.isatty():
        width = min(shutil.get_terminal_size().columns, 101) - 1  # a line that wraps can't be taken away
        sys.stderr.write(f"\r\x1b[K{line[: max(width, 1)]}")
        sys.stderr.flush()


def hush() -> None:
    """Takes the line of progress away."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
