"""A running process that was asked about (`--pid`, or the first process of `--in`)."""

from doctor.facts.model import Model
from doctor.facts.python import LoadedLibrary


class Process(Model):
    """All None where no process was asked about."""

    pid: int | None = None
    name: str | None = None
    executable: str | None = None
    """Path inside its own root."""
    container: str | None = None
    """`docker:NAME` as it was asked for."""
    libraries: tuple[str, ...] | None = None
    """GPU libraries that it has mapped, in the order of their addresses. ` (deleted)`: replaced since it began."""
    displaced: tuple[LoadedLibrary, ...] | None = None
    """Libraries that LD_LIBRARY_PATH or LD_PRELOAD put before the copy that the program's own RUNPATH leads to."""
    devices: tuple[str, ...] | None = None
    """Device nodes of GPUs that it has open."""


class LostVariable(Model):
    """A variable that is set and does not reach a program: by a script in a text, or by the processes above one."""

    key: str
    """Its name, and the line or process that it does not reach."""
    name: str
    step: str
    """What takes it away: `sudo`, `container`, `srun-export` … (docs/env.md)."""
    summary: str
    cure: str
    shown: tuple[str, ...] = ()
    """Where it is set and where it is lost, each `place: text`."""
