"""/proc/PID/maps -> the libraries of the GPU stack that a process has mapped, each file once, in order.

>>> text = "7f00-7f01 r-xp 0 08:01 77 /opt/rocm/lib/libamdhip64.so.6.2\\n7f02-7f03 r--p 0 08:01 9 /lib/libz.so.1\\n"
>>> read(text)
('/opt/rocm/lib/libamdhip64.so.6.2',)
"""

from __future__ import annotations

import re

from doctor.parsers.lib.printable import clean

MOST = 400
_OF_THE_STACK = re.compile(
    r"/lib(?:cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|cusparseLt|nccl|nvrtc|nvJitLink|nvidia-ml"
    r"|amdhip64|hsa-runtime64|rocblas|hipblas|hipblaslt|MIOpen|rccl|rocsolver|rocsparse|rocfft|amd_comgr|roctx64"
    r"|torch|torch_cuda|torch_hip|torch_python|c10|c10_cuda|c10_hip|triton|mkl_rt|openblas)"
    r"(?:[._-][\w.+-]{0,80})?\.so(?:\.[\d.]{1,20})?$"
)


def read(text: str) -> tuple[str, ...]:
    """Deleted files keep the kernel's mark ` (deleted)`: they were replaced since the process began."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[5].startswith("/"):
            path = clean(parts[5], 1000)
            if _OF_THE_STACK.search(path.removesuffix(" (deleted)")) and len(found) < MOST:
                found.setdefault(path)
    return tuple(found)
