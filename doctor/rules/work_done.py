"""What a text tells of work that a GPU did: kernels that ran and read where nothing is, results that are not right.

Causes that keep work from starting show neither, and words alone don't accuse them there.
"""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot
from doctor.rules.run_line import NO_GPU_SEEN, from_text

_ASTRAY = ("kernel-went-astray-told", "amd-memory-access-fault", "hip-launch-failure")
_RESULTS = ("results-not-right-told",)
_MEMORY = ("memory-ran-out-told", "cuda-out-of-memory", "gpu-out-of-memory-told", "hsa-out-of-memory")
GPU_LISTED = ("tensorflow-made-gpu-device-told", "tensorflow-lists-gpu", "jax-lists-gpu", "cupy-lists-gpu-told")
"""A framework names the GPU that it took."""
_NEVER_STARTED = ("import-fails-told", "cuda-no-kernel-image", "hip-invalid-device-function", *sorted(NO_GPU_SEEN))
_CALLS_FAIL = (
    *("program-crashed", "framework-falls-back-to-cpu", "only-cpu-listed-told", "cuda-library-not-found"),
    *("cublas-or-cudnn-call-failed", "cudnn-not-initialized", "cudnn-libraries-not-loaded", "cudnn-execution-failed"),
    *("cudnn-finds-no-engine", "cudnn-runtime-differs-from-build", "cudnn-sublibrary-version-mismatch"),
    *("tensorflow-cudnn-older", "library-of-tensorflow-missing", "tensorflow-binary-lacks-capability"),
)
"""What a framework may still miss once it has its GPU: libraries of its kernels, and the kernels."""


def ran(machine: Snapshot) -> bool:
    """Whether kernels ran, and went astray or computed what is not right; nothing tells that work never started."""
    return machine.symptom(*_ASTRAY, *_RESULTS) is not None and machine.symptom(*_NEVER_STARTED) is None


def nothing_fails(machine: Snapshot, fact: str) -> bool:
    """Whether a pasted text shows that fact and tells of no trouble: what a list of releases lacks is no complaint."""
    from doctor.knowledge.hearsay import trouble

    return from_text(machine, fact) and not trouble(machine, "") and machine.symptom("work-fails-told") is None


def went_astray(machine: Snapshot) -> bool:
    """Whether a kernel read or wrote where nothing is, and no memory ran out."""
    return machine.symptom(*_ASTRAY) is not None and machine.symptom(*_MEMORY) is None


def took_gpu(machine: Snapshot, *shown: str) -> bool:
    """Whether one of the symptoms shows that a framework took its GPU, and nothing tells that it went no further."""
    return machine.symptom(*shown) is not None and machine.symptom(*_NEVER_STARTED, *_CALLS_FAIL) is None
