"""GPU libraries that the loader did not find, and what their soname says of who asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from re import Match
from typing import NamedTuple

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.redaction.lazy import Lazy
from doctor.versions import Dotted

_NOT_FOUND = (
    "cuda-library-not-found",
    "rocm-library-not-found",
    "hsakmt-library-missing",
    "extension-import-disabled",
    "library-of-tensorflow-missing",
)
_SONAME = Lazy(r"\blib(amdhip64|hiprtc|hipblas|rocblas|cudart|cublas|cublasLt|nvrtc)\.so\.(\d{1,2})")
_CUDA_SONAME = Lazy(r"\blib(?:cudart|cublas|cublasLt|nvrtc)\.so\.(\d{1,2})(?:\.(\d))?")
_OF_OTHERS = Lazy(
    r"(?i)tensorflow|onnxruntime|ctranslate2|whisper|\bjax|libtorch_cuda\.so|torch/lib/|ollama|llama[._-]?cpp|\bcaffe2?\b"
)
"""What brings its own CUDA, or has a rule of its own: the library that it lacks is not one of an extension."""
OF_EXTENSIONS = Lazy(
    r"(?i)torch[-_](?:scatter|sparse|cluster|spline)|pyg_lib|flash_attn|xformers|bitsandbytes|\btriton\b|vllm|sgl_kernel"
    r"|\bmmcv\b|detectron2|causal_conv1d|mamba_ssm|natten|exllama|\bapex\b|\baiter\b"
)
"""Modules that are compiled against one torch and the runtime that it was built with."""
_OWN_CUDA = Lazy(r"^(?:cupy-(?:cuda|rocm)|ctranslate2|faster-whisper|onnxruntime|tensorflow|jaxlib|jax-cuda|vllm$)")
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


def sought_of_another_cuda(machine: Snapshot) -> Iterator[tuple[Missing, str]]:
    """CUDA libraries that an extension looks for in another release than torch was built with or is installed, and
    that release: libcudart.so.11.0 where CUDA 12 is. A major is a release; before CUDA 11 a minor is one as well."""
    here = [machine.torch.cuda] if machine.torch.cuda else [i.version for i in machine.cuda or () if i.version]
    if not here or machine.torch.build == "rocm" or any(_OWN_CUDA.search(p.name) for p in machine.packages or ()):
        return
    for symptom in machine.symptoms:
        found = _CUDA_SONAME.search(symptom.text) if symptom.key == "cuda-library-not-found" else None
        if found and not _OF_OTHERS.search(symptom.text) and not any(_same_cuda(found, v) for v in here):
            version = found[1] + (f".{found[2]}" if found[2] and int(found[1]) < 11 else "")
            yield Missing(found[0], "cuda", int(found[1]), symptom), f"CUDA {version}"
            return


def sought_of_another_rocm(machine: Snapshot) -> Iterator[Missing]:
    """A HIP runtime of another major than torch's that an extension looks for: its line names it, or torch runs."""
    ours = Dotted(machine.torch.rocm or "").major
    if ours is None or any(_OWN_CUDA.search(p.name) for p in machine.packages or ()):
        return
    for missing in missing_runtimes(machine):
        named = OF_EXTENSIONS.search(missing.symptom.text)
        of_others = _OF_OTHERS.search(missing.symptom.text) or (named and named[0].lower() in ("triton", "vllm"))
        if missing.stack == "rocm" and missing.major != ours and not of_others and (named or machine.torch.available):
            yield missing
            return


def _same_cuda(soname: Match[str], version: str) -> bool:
    ours, major = Dotted(version), int(soname[1])
    return ours.major == major and (major >= 11 or soname[2] is None or ours.series() == f"{major}.{soname[2]}")
