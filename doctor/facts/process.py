"""A running process that was asked about (`--pid`, or the first process of `--in`)."""

from doctor.facts.model import Model


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
    devices: tuple[str, ...] | None = None
    """Device nodes of GPUs that it has open."""
