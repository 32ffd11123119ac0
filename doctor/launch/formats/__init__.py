"""A Spec in the words of each engine: one module a format, each with `emit(spec) -> Emitted`."""

from __future__ import annotations

from importlib import import_module

from doctor.launch.spec import Emitted, Spec

FORMATS = {
    "docker": "command_line",
    "podman": "podman_line",
    "compose": "compose",
    "kubernetes": "kubernetes",
    "kubernetes-job": "kubernetes_job",
    "apptainer": "apptainer",
    "slurm": "slurm",
    "devcontainer": "devcontainer",
}
"""What `--emit` takes, and the module that writes it."""


def emit(name: str, spec: Spec) -> Emitted:
    """Raises KeyError on a format that is none, InputError on a value that the format can't hold."""
    emitted: Emitted = import_module(f"doctor.launch.formats.{FORMATS[name]}").emit(spec)
    return emitted
