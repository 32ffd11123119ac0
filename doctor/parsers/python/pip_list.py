"""Output of `pip list` or `pip freeze` (uv's too) -> Python packages, and the build of torch.

>>> read("torch==2.5.1+rocm6.2\\nnumpy==1.26.4").get("torch.build")
'rocm'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts, said_facts

PASTED = (
    {
        "trust": 490,
        "words": ("package  ", "==", "torch  ", "torchvision  ", "torchaudio  ", "triton  ", "vllm  ", "numpy  "),
        "commands": ("pip list", "pip freeze", "pip3 list", "pip3 freeze", "uv pip"),
    },
)

_ROW = re.compile(r"\s{0,8}([A-Za-z0-9][\w.-]{0,99})(?:==|\s{1,60})v?(\d[\w.+!-]{0,60})(?:\s|$)")
_URL = re.compile(r"\s{0,8}([A-Za-z0-9][\w.-]{0,99}) @ \S{0,400}/[\w.]{1,80}-(\d[\w.+!%]{0,60})-")
_TORCH = re.compile(r"\s{0,8}(?:py)?torch\s{1,20}([A-Za-z].{2,80})$")
"""Words in place of the version. conda calls the package by its other name."""

_HEADER = re.compile(r"^\s{0,8}Package\s{1,60}Version", re.MULTILINE)
_SURE = frozenset(
    ("torch", "torchvision", "torchaudio", "triton", "numpy", "vllm", "flash-attn", "flash_attn", "xformers", "jax",
     "bitsandbytes", "transformers", "deepspeed", "accelerate", "sglang", "pytorch-triton-rocm", "tensorflow", "jaxlib",
     "pytorch_triton_rocm", "onnxruntime-gpu", "cupy")
)  # fmt: skip
"""Names that need no list around them to be packages."""


def _pairs_count(text: str) -> bool:
    """Whether lines of a word and a number are packages here: there is a list's header, or they are most of it."""
    if _HEADER.search(text):
        return True
    lines = [line for line in text.split("\n")[:5000] if line.strip()]
    return sum(1 for line in lines if _ROW.match(line[:200])) * 2 >= len(lines)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a package."""
    sheet = FactSheet()
    rows: list[dict[str, str]] = []
    first = ""
    pairs = _pairs_count(text)
    for where, line in source_lines(text, source):
        if found := _TORCH.match(line):
            for name, value in said_facts(found[1]).items():
                sheet.put(name, value, where)
            continue
        found = _ROW.match(line) or (_URL.match(line) if " @ " in line else None)
        if found and packages.GONE.search(line):
            continue
        if found and not pairs and "==" not in line and " @ " not in line and found[1].lower() not in _SURE:
            continue
        row = packages.package(found[1], found[2].replace("%2B", "+").replace("%2b", "+")) if found else None
        if row is None or len(rows) >= packages.LIMIT:
            continue
        rows.append(row)
        first = first or where
        if row["name"] == "torch":
            for name, value in build_facts(row["version"]).items():
                sheet.put(name, value, where)
    if rows:
        sheet.put("packages", rows, first)
        for name, value in packages.compilers(rows):
            sheet.put(name, value, first)
    if not len(sheet):
        raise ParserError("no package with a version")
    return sheet
