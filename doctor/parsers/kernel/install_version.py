"""Text of the file by which an installation tells its version -> the version, and those of its components.

ROCm writes `.info/version` (`6.2.0-66`) and `share/hip/version` (`HIP_VERSION_MAJOR=6` …), CUDA `version.json`, older
releases `version.txt` (`CUDA Version 10.2.89`).

>>> rocm("6.2.0-66"), cuda_text("CUDA Version 10.2.89")
('6.2.0', '10.2.89')
"""

from __future__ import annotations

import json
import re

from doctor.errors import ParserError

_ROCM = re.compile(r"\s{0,20}(\d{1,2}\.\d{1,2}(?:\.\d{1,3})?(?:(?:a|b|rc)\d{1,10})?)(?![\d.]\d)", re.ASCII)
_CUDA = re.compile(r"CUDA Version (\d{1,2}\.\d{1,2}(?:\.\d{1,4})?)", re.ASCII)
_HIP = re.compile(r"^HIP_VERSION_(MAJOR|MINOR|PATCH)=(\d{1,8})\s{0,4}$", re.MULTILINE | re.ASCII)
_NUMBERS = re.compile(r"\d{1,5}(?:\.\d{1,6}){1,4}", re.ASCII)
_OF_JSON = {
    "cuda_nvcc": "nvcc", "cuda_cudart": "cudart", "libcublas": "cublas", "libnvjitlink": "nvjitlink",
    "libcufft": "cufft", "libcurand": "curand", "libcusolver": "cusolver", "libcusparse": "cusparse",
    "nsight_compute": "ncu", "nsight_systems": "nsys",
}  # fmt: skip


def rocm(text: str) -> str:
    """Of `.info/version`; ParserError where it starts with no version."""
    match = _ROCM.match(text[:200])
    if not match:
        raise ParserError("no version of ROCm")
    return match[1]


def hip(text: str) -> str:
    """Of `share/hip/version` or `bin/.hipVersion`."""
    found = {m[1]: m[2] for m in _HIP.finditer(text[:4000])}
    if "MAJOR" not in found or "MINOR" not in found:
        raise ParserError("no HIP_VERSION_MAJOR and _MINOR")
    return ".".join(found[w] for w in ("MAJOR", "MINOR", "PATCH") if w in found)


def cuda_text(text: str) -> str:
    match = _CUDA.search(text[:1000])
    if not match:
        raise ParserError("no 'CUDA Version'")
    return match[1]


def cuda_json(text: str) -> dict[str, str]:
    """`version` of the toolkit and its components. ParserError where it is no such JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParserError("version.json is no JSON") from error
    found: dict[str, str] = {}
    for key, name in (("cuda", "version"), *_OF_JSON.items()):
        entry = data.get(key) if isinstance(data, dict) else None
        version = entry.get("version") if isinstance(entry, dict) else None
        if isinstance(version, str) and _NUMBERS.fullmatch(version):
            found[name] = version
    if "version" not in found:
        raise ParserError("version.json names no CUDA")
    return found
