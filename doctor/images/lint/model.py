"""A fault of a file: where, which rule, how bad, what would be right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Level = Literal["error", "warning", "info"]

RULES: dict[str, str] = {
    "image-base-moves": "The base is a tag, which moves; a digest does not.",
    "image-wheel-index-wrong": "A package is for another vendor than the image, or a build that there is not.",
    "image-wheel-index-missing": "torch for AMD is taken from the default index, whose wheel is built for CUDA.",
    "image-wheel-index-open": "Two indexes may each give torch, and the higher version wins.",
    "image-torch-cpu-only": "A CPU build of torch on a GPU image.",
    "image-jax-cpu-only": "JAX without a plugin for the GPUs of its base.",
    "image-torch-unpinned": "torch, or what brings it, without a version.",
    "image-torch-not-held": "torch is replaced by a later install, or does not fit torchvision or torchaudio.",
    "image-toolkit-torch-mismatch": "What has to be compiled is compiled with another CUDA major than torch's.",
    "image-requirement-unquoted": "The shell takes `>` in a requirement for a redirection.",
    "image-driver-installed": "A driver is installed in the image; it is the host's.",
    "image-compat-on-loader-path": "CUDA's compatibility libraries are put before the host's driver for good.",
    "image-group-by-name": "A user that is no root, in group render by name: its number on the host is another.",
    "image-group-video-alone": "A user that is no root, in group video alone: AMD's nodes belong to group render.",
    "image-base-upgraded": "All packages of a CUDA base are upgraded, CUDA's among them.",
    "image-download-unverified": "A download whose certificate or signature is not checked.",
    "image-repository-other-release": "AMD's repository for another release of the distribution than the base's.",
    "image-flag-baked": "A debugging or machine-specific variable is set for every run.",
    "image-flag-wrong": "The library that reads a variable does not take this value.",
    "image-flag-lost": "A variable is set for the build only, and the container does not get it.",
    "image-privileged": "All rights of the host are given where a device is enough.",
    "image-ipc-host": "The host's shared memory is opened where a size is enough.",
    "image-seccomp-unconfined": "System calls are unfiltered where one capability is enough.",
    "image-device-missing": "A part of the devices that a GPU needs is missing.",
    "image-gpu-request-wrong": "A request for GPUs that the engine refuses or does not honour.",
    "image-shm-small": "A GPU service with the engine's 64 MiB of shared memory.",
}


@dataclass(frozen=True, order=True)
class Fault:
    line: int
    rule: str
    level: Level
    text: str
    fix: str
    ignored: bool = False
    """A comment of the file says so."""


@dataclass
class Stage:
    """`base`: the image at the bottom of it; `vendor` of its GPU software, None where the name does not say."""

    base: str
    name: str | None = None
    vendor: str | None = None
    held: bool = False
    """A constraint keeps torch where it is."""
    torch: str | None = None
    """Build of torch that is in it: `rocm`, `cuda`, `cpu`."""
    values: dict[str, str] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)
    """Python packages that are known to be in it."""
    groups: dict[str, int] = field(default_factory=dict)
    """Group that a user is put into, by name or number → line."""
    user: str = ""
    command: dict[str, str] = field(default_factory=dict)
    """Of CMD and ENTRYPOINT."""
    jax: int = 0
    """Line that installs it."""
    copied: dict[str, str] = field(default_factory=dict)
    """Name of a file that was copied → where it lies in the build context."""
    touched: set[str] = field(default_factory=set)
    """Names in commands that are not pip's: such a file may be another than the one in the context. `*`: any."""
