"""`podman run`, rootless too."""

from __future__ import annotations

from doctor.launch.formats.docker import as_line, flags, tidy
from doctor.launch.spec import Emitted, Spec

LOCAL = True
SHELL = True
IMAGES = ("docker-archive",)


def emit(spec: Spec) -> Emitted:
    return as_line(["podman", "run"], [*tidy(spec), *flags(spec, podman=True)], spec)
