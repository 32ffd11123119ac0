"""File name of a shared library -> which component of ROCm or CUDA it is, and the version that its name tells.

>>> read("libcublas.so.12.4.5.8")
Library(stack='cuda', component='cublas', soname='libcublas.so.12', version='12.4.5.8')
>>> read("libcudart.so.11.8.89")
Library(stack='cuda', component='cudart', soname='libcudart.so.11.0', version='11.8.89')
>>> read("libamdhip64.so.6").version is None, read("libfoo.so.1") is None
(True, True)
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Stack = Literal["rocm", "cuda"]

COMPONENTS: dict[str, tuple[Stack, str]] = {
    "libamdhip64": ("rocm", "hip"),
    "libhsa-runtime64": ("rocm", "hsa"),
    "librocblas": ("rocm", "rocblas"),
    "libhipblaslt": ("rocm", "hipblaslt"),
    "libhipblas": ("rocm", "hipblas"),
    "libMIOpen": ("rocm", "miopen"),
    "librccl": ("rocm", "rccl"),
    "librocfft": ("rocm", "rocfft"),
    "librocrand": ("rocm", "rocrand"),
    "librocsparse": ("rocm", "rocsparse"),
    "librocsolver": ("rocm", "rocsolver"),
    "libcudart": ("cuda", "cudart"),
    "libcublas": ("cuda", "cublas"),
    "libcublasLt": ("cuda", "cublaslt"),
    "libcudnn": ("cuda", "cudnn"),
    "libcufft": ("cuda", "cufft"),
    "libcurand": ("cuda", "curand"),
    "libcusolver": ("cuda", "cusolver"),
    "libcusparse": ("cuda", "cusparse"),
    "libnccl": ("cuda", "nccl"),
    "libnvJitLink": ("cuda", "nvjitlink"),
}
TELLS_RELEASE = frozenset({
    "hip", "hsa", "rocblas", "hipblaslt", "cudart", "cublas", "cublaslt", "cudnn", "nccl", "cufft", "curand",
    "cusolver", "cusparse",
})  # fmt: skip
"""Components whose file name carries their own version; MIOpen, RCCL, rocFFT, rocRAND, rocSPARSE and rocSOLVER carry
that of their interface."""
_NAME = re.compile(r"^(lib[A-Za-z0-9-]{2,20})\.so\.(\d{1,6}(?:\.\d{1,8}){0,3})$", re.ASCII)


class Library(NamedTuple):
    stack: Stack
    component: str
    soname: str
    """With the first number only, as the loader looks for it."""
    version: str | None
    """None where the name has the first number only."""


def read(name: str) -> Library | None:
    """None for a file that is none of these."""
    match = _NAME.match(name)
    known = COMPONENTS.get(match[1]) if match else None
    if match is None or known is None:
        return None
    soname = f"{match[1]}.so.{_interface(known[1], match[2])}"
    return Library(*known, soname, match[2] if "." in match[2] and name != soname else None)


def _interface(component: str, numbers: str) -> str:
    """The number in the soname: the first one; of the CUDA runtime 11.0 for every 11.x, and 10.2 of 10.2.89."""
    major, _, rest = numbers.partition(".")
    if component != "cudart" or not rest or major not in ("9", "10", "11"):
        return major
    return "11.0" if major == "11" else f"{major}.{rest.partition('.')[0]}"
