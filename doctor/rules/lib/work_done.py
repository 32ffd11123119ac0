"""What a text shows of work that a GPU did: kernels that ran and read where nothing is, results that are not right.

Causes that keep work from starting show neither, and words alone don't point to them there.
"""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot
from doctor.rules.lib.run_line import NO_GPU_SEEN

_ASTRAY = ("amd-memory-access-fault", "hip-launch-failure")
_MEMORY = ("cuda-out-of-memory", "hip-out-of-memory")
GPU_LISTED = ("tensorflow-lists-gpu", "jax-lists-gpu")
"""A framework names the GPU that it took."""
_NEVER_STARTED = ("cuda-no-kernel-image", "hip-invalid-device-function", *sorted(NO_GPU_SEEN))
_CALLS_FAIL = (
    *(
        "program-crashed",
        "framework-falls-back-to-cpu",
        "ggml-gpu-not-initialized",
        "jax-no-gpu-falls-back",
        "cuda-library-not-found",
    ),
    *(
        "cublas-or-cudnn-call-failed",
        "cublas-call-failed",
        "cudnn-not-initialized",
        "cudnn-libraries-not-loaded",
        "cudnn-execution-failed",
    ),
    *("cudnn-finds-no-engine", "cudnn-runtime-differs-from-build", "cudnn-sublibrary-version-mismatch"),
    *("tensorflow-cudnn-older", "library-of-tensorflow-missing", "tensorflow-binary-lacks-capability"),
)
"""What a framework may still miss once it has its GPU: libraries of its kernels, and the kernels."""


def ran(machine: Snapshot) -> bool:
    """Whether kernels ran, and went astray or computed what is not right; nothing tells that work never started."""
    return machine.symptom(*_ASTRAY) is not None and machine.symptom(*_NEVER_STARTED) is None


def went_astray(machine: Snapshot) -> bool:
    """Whether a kernel read or wrote where nothing is, and no memory ran out."""
    return machine.symptom(*_ASTRAY) is not None and machine.symptom(*_MEMORY) is None


def took_gpu(machine: Snapshot, *shown: str) -> bool:
    """Whether one of the symptoms shows that a framework took its GPU, and nothing shows that it stopped there."""
    return machine.symptom(*shown) is not None and machine.symptom(*_NEVER_STARTED, *_CALLS_FAIL) is None
