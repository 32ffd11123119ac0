"""GPU libraries that the loader did not find, and what their soname says of who asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.redaction.lazy import Lazy

_NOT_FOUND = (
    "cuda-library-not-found",
    "rocm-library-not-found",
    "hsakmt-library-missing",
    "extension-import-disabled",
    "library-of-tensorflow-missing",
)
_SONAME = Lazy(r"\blib(amdhip64|hiprtc|hipblas|rocblas|cudart|cublas|cublasLt|nvrtc)\.so\.(\d{1,2})")
_ROCM = ("amdhip64", "hiprtc", "hipblas", "rocblas")
_OF_RELEASE = {
    ("hipblas", 1): 5,
    ("hipblas", 2): 6,
    ("hipblas", 3): 7,
    ("rocblas", 3): 5,
    ("rocblas", 4): 6,
    ("rocblas", 5): 7,
}
"""Sonames that count for themselves -> major of the ROCm that has them (hipBLAS #580, ollama #12326)."""


class Missing(NamedTuple):
    """`stack` is `rocm` or `cuda`; `major` the release whose library has that soname (libcudart.so.12: CUDA 12)."""

    library: str
    stack: str
    major: int
    symptom: Symptom


def missing_runtimes(machine: Snapshot) -> Iterator[Missing]:
    """Runtime libraries whose soname follows the release: libamdhip64.so.6 is of ROCm 6."""
    for symptom in machine.symptoms:
        found = _SONAME.search(symptom.text) if symptom.key in _NOT_FOUND else None
        if found:
            stack, number = "rocm" if found[1] in _ROCM else "cuda", int(found[2])
            if found[1] in ("hipblas", "rocblas"):
                number = _OF_RELEASE.get((found[1], number), 0)
            if number:
                yield Missing(f"lib{found[1]}.so.{found[2]}", stack, number, symptom)
