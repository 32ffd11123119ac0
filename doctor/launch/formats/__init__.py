"""A Spec in the words of each engine: one module a format, each with `emit(spec) -> Emitted`."""

from __future__ import annotations

import unicodedata
from importlib import import_module

from doctor.errors import InputError
from doctor.launch.spec import Emitted, Spec

FORMATS = {
    "docker": "command_line",
    "podman": "podman_line",
    "compose": "compose",
    "kubernetes": "kubernetes",
    "kubernetes-job": "kubernetes_job",
    "apptainer": "apptainer",
    "slurm": "slurm",
    "enroot": "enroot",
    "devcontainer": "devcontainer",
}
"""What `--emit` takes, and the module that writes it."""
LOCAL = ("docker", "podman", "compose", "devcontainer")
"""Formats that an engine of this machine will read; what the others say is read elsewhere."""
_SHELL = ("docker", "podman", "apptainer", "slurm", "enroot")
"""Formats that are shell text: it has no escapes that every shell knows, so a control character would stand there as
it is, and a terminal or an editor would act on it."""
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def emit(name: str, spec: Spec) -> Emitted:
    """Raises KeyError on a format that is none, InputError on a value that the format can't hold."""
    for value in (*spec.command, *(part.value for part in spec.parts)):
        if fault := _fault(name, value):
            raise InputError(f"--emit {name}: {value[:60]!r} holds {fault}")
    emitted: Emitted = import_module(f"doctor.launch.formats.{FORMATS[name]}").emit(spec)
    return emitted


def _fault(name: str, value: str) -> str | None:
    if any("\ud800" <= c <= "\udfff" for c in value):
        return "bytes that are no UTF-8"
    if name in _SHELL and any((unicodedata.category(c) == "Cc" and c not in "\t\n") or c in _BIDI for c in value):
        return "a control character, which a shell line can't write"
    return None
