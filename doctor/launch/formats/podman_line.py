"""`podman run`, rootless too."""

from __future__ import annotations

from doctor.launch.formats.command_line import TIDY, Flag, as_line, flags
from doctor.launch.spec import Emitted, Spec


def emit(spec: Spec) -> Emitted:
    return as_line(["podman", "run"], [Flag(("--rm",), TIDY), *flags(spec, podman=True)], spec)
