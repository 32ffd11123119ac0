"""A fault of a file: where, which rule, how bad, what would be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "info"]

RULES: dict[str, str] = {
    "image-base-moves": "The base is a tag, which moves; a digest does not.",
    "image-wheel-index-wrong": "torch is taken from the index of another vendor than the image is for.",
    "image-wheel-index-missing": "torch for AMD is taken from the default index, whose wheel is built for CUDA.",
    "image-wheel-index-open": "Two indexes may each give torch, and the higher version wins.",
    "image-torch-cpu-only": "A CPU build of torch on a GPU image.",
    "image-torch-unpinned": "torch, or what brings it, without a version.",
    "image-torch-not-held": "A later install may replace the GPU build of torch.",
    "image-toolkit-torch-mismatch": "GPU code is compiled with another CUDA major than torch's.",
    "image-compiler-missing": "GPU code is compiled, and the base has no compiler for it.",
    "image-driver-installed": "A driver is installed in the image; it is the host's.",
    "image-compat-on-loader-path": "CUDA's compatibility libraries are put before the host's driver for good.",
    "image-group-by-name": "A group by name, whose number on the host is another.",
    "image-flag-baked": "A debugging or machine-specific variable is set for every run.",
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
