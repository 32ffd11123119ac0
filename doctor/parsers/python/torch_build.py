"""The version of torch -> what the build was made for.

>>> build_facts("2.3.0+cu121")
{'torch.installed': True, 'torch.version': '2.3.0+cu121', 'torch.build': 'cuda', 'torch.cuda': '12.1'}
>>> build_facts("2.9.1+rocm7.2.0.git7e1940d4")["torch.rocm"]
'7.2.0'
>>> build_facts("2.6.0")              # says nothing of the build
{'torch.installed': True, 'torch.version': '2.6.0'}
"""

from __future__ import annotations

import re

_CUDA = re.compile(r"[+._](?:cu|cuda)(\d{2,3})(?![\d.]*\w{8})")
_CUDA_DOTTED = re.compile(r"cuda(\d{1,2}\.\d{1,2})")
_ROCM = re.compile(r"rocm[_-]?(\d{1,2}(?:\.\d{1,2}){0,2})")
_SAYS_CUDA = re.compile(r"(?<![\w.])cuda(?!:\d|\.\w)")
_OF_A_FAILURE = re.compile(r"\bhip\b|\berrors?\b|\bfail|\bcrash|\bsees? no\b|\bnot? (?:find|found|seen?|cuda)\b")
"""A sentence on what went wrong, which names CUDA as the device's name and not as the build."""
_NVIDIA_IMAGE = re.compile(r"\.nv\d\d\.\d\d")


def build_facts(version: str) -> dict[str, str | bool]:
    """Facts of a version text. A plain version gives no build: PyPI's torch is CUDA on Linux and CPU elsewhere."""
    facts: dict[str, str | bool] = {"torch.installed": True, "torch.version": version[:80]}
    if found := _ROCM.search(version):
        facts |= {"torch.build": "rocm", "torch.rocm": found[1]}
    elif "+cpu" in version or version.endswith("cpu"):
        facts["torch.build"] = "cpu"
    elif "+xpu" in version:
        facts["torch.build"] = "xpu"
    elif found := _CUDA.search(version):
        digits = found[1]
        facts |= {"torch.build": "cuda", "torch.cuda": f"{digits[:-1]}.{digits[-1]}"}
    elif found := _CUDA_DOTTED.search(version):
        facts |= {"torch.build": "cuda", "torch.cuda": found[1]}
    elif _NVIDIA_IMAGE.search(version):
        facts["torch.build"] = "cuda"
    return facts


def said_facts(text: str) -> dict[str, str | bool]:
    """Facts of words in place of a version: `CPU build`, `rocm6.2 build`, `ROCm wheel`, `cu121`."""
    low = text.lower()[:200]
    facts: dict[str, str | bool] = {}
    if found := _ROCM.search(low):
        facts |= {"torch.installed": True, "torch.build": "rocm", "torch.rocm": found[1]}
    elif "rocm" in low:
        facts |= {"torch.installed": True, "torch.build": "rocm"}
    elif found := re.search(r"\bcu(\d{2})(\d)\b", low):
        facts |= {"torch.installed": True, "torch.build": "cuda", "torch.cuda": f"{found[1]}.{found[2]}"}
    elif _SAYS_CUDA.search(low) and "cpu" not in low and not _OF_A_FAILURE.search(low):
        facts |= {"torch.installed": True, "torch.build": "cuda"}
    elif re.search(r"\bcpu\b", low) and "cuda" not in low:
        facts |= {"torch.installed": True, "torch.build": "cpu"}
    return facts
