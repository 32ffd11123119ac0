"""The user's Python environment, from files: never imported, never run."""

from __future__ import annotations

from typing import Literal

from doctor.facts.model import Model


class Package(Model):
    name: str
    """Normalised as PyPI does: lower case, `-`."""
    version: str
    location: str | None = None


class Interpreter(Model):
    """The Python that the user works with."""

    path: str | None = None
    version: str | None = None
    prefix: str | None = None
    chosen_by: str | None = None
    """`--python`, `VIRTUAL_ENV`, `CONDA_PREFIX`, `PATH`."""
    site_packages: tuple[str, ...] | None = None


class Torch(Model):
    """torch as installed. `installed` False: known not to be there."""

    installed: bool | None = None
    version: str | None = None
    build: Literal["cuda", "rocm", "cpu", "xpu"] | None = None
    cuda: str | None = None
    hip: str | None = None
    rocm: str | None = None
    """The ROCm release that the build says (`6.2`), where it does."""
    arch_list: tuple[str, ...] | None = None
    available: bool | None = None
    """What torch.cuda.is_available() answered, where a text says so."""
    location: str | None = None
    cudnn: str | None = None
    git: str | None = None
