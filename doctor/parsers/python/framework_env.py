"""`transformers env`, `accelerate env`, `ds_report` and `python -m xformers.info` -> torch, packages, GPU and the host.

>>> read("torch version .................... 2.4.0+cu121\\ntorch cuda version ............... 12.1").get("torch.cuda")
'12.1'
>>> sheet = read("- PyTorch version (GPU?): 2.4.1+cu121 (True)\\n- GPU type: NVIDIA A100")
>>> sheet.get("torch.version"), sheet.get("torch.available")
('2.4.1+cu121', True)
>>> read("pytorch.version:     2.6.0\\ngpu.name:     NVIDIA L4\\ngpu.compute_capability:    8.9").get("gpus[#0].arch")
'sm_89'
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts

PASTED = (
    {
        "trust": 390,
        "words": (
            "transformers` version",
            "accelerate` version",
            "pytorch version (",
            "torch version ..",
            "deepspeed",
            "xformers 0",
            "pytorch.version:",
            "build.torch_version",
        ),
        "commands": ("transformers env", "transformers-cli env", "accelerate env", "ds_report", "xformers.info"),
    },
)

_LINE = re.compile(
    r"\s{0,8}(?:[-*] )?`?(?P<label>[A-Za-z][\w()?/. -]{2,60}?)`?(?P<more> version)?"
    r"(?: version)?\s{0,4}(?::|\.{2,40})\s{1,60}(?P<value>\S.{0,200})$"
)
_MARKS = re.compile(
    r"^\s{0,8}(?:- `?(?:transformers|Accelerate)`? version:|- PyTorch (?:version|accelerator|XPU|NPU)\b"
    r"|torch version \.{2}|deepspeed (?:info|install path|wheel)|xFormers \d|pytorch\.version:|build\.torch_version:)",
    re.MULTILINE,
)
_TORCH = re.compile(r"(\d{1,2}\.\d{1,2}\.\d{1,3}[\w.+-]{0,60})(?: \((True|False|\w{2,20})\))?")
_XFORMERS = re.compile(r"\s{0,8}xFormers (\d[\w.+-]{1,40})\s*$")
_PLATFORM = re.compile(r"Linux-(\S{3,120}?)-(x86_64|aarch64|ppc64le)-with")
_VERSION = re.compile(r"(\d{1,3}(?:\.\d{1,4}){1,3}[\w.+-]{0,40})")
_SHM = re.compile(r"(\d{1,6}(?:\.\d{1,2})?) (KB|MB|GB|TB)$")
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_PACKAGES = {name: name for name in ("transformers", "accelerate", "safetensors", "numpy", "bitsandbytes", "deepspeed",
                                    "peft")} | {"huggingface_hub": "huggingface-hub", "deepspeed info": "deepspeed",
                                                "huggingface hub": "huggingface-hub"}  # fmt: skip


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where none of the four tools' own lines is in the text."""
    if not _MARKS.search(text):
        raise ParserError("no report of transformers, accelerate, deepspeed or xformers")
    reader = _Reader()
    for where, line in source_lines(text, source):
        reader.take(where, line[:400])
    return reader.close()


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.packages: list[dict[str, str]] = []
        self.packages_at = ""

    def take(self, where: str, line: str) -> None:
        if found := _XFORMERS.match(line):
            self.package(where, "xformers", found[1])
        elif found := _LINE.match(line):
            label = found["label"].lower().strip(" .")
            label = label.removesuffix(" version") if not label.startswith(("cuda", "nvcc")) else label
            self.label(where, label, kept(found["value"], 200))

    def label(self, where: str, label: str, value: str) -> None:
        if value.lower() in ("none", "n/a", "not installed", "not found", "unavailable", "unknown"):
            return
        if label in _PACKAGES:
            if found := _VERSION.match(value):
                self.package(where, _PACKAGES[label], found[1])
        elif label in _ACTIONS:
            _ACTIONS[label](self, where, value)

    def package(self, where: str, name: str, version: str) -> None:
        row = packages.package(name, version)
        if row and len(self.packages) < packages.LIMIT:
            self.packages.append(row)
            self.packages_at = self.packages_at or where

    def torch(self, where: str, value: str) -> None:
        if found := _TORCH.match(value):
            for name, fact in build_facts(found[1]).items():
                self.sheet.put(name, fact, where)
            if found[2] in ("True", "False"):
                self.sheet.put("torch.available", found[2] == "True", where)

    def cuda(self, where: str, value: str) -> None:
        if found := re.match(r"\d{1,2}\.\d{1,2}", value):
            self.sheet.put("torch.build", "cuda", where)
            self.sheet.put("torch.cuda", found[0], where)

    def hip(self, where: str, value: str) -> None:
        if re.match(r"\d{1,2}\.\d{1,2}", value):
            self.sheet.put("torch.build", "rocm", where)
            self.sheet.put("torch.hip", value[:40], where)

    def available(self, where: str, value: str) -> None:
        """xformers says `available` or `not available` of pytorch.cuda."""
        if value in ("available", "not available"):
            self.sheet.put("torch.available", value == "available", where)

    def python(self, where: str, value: str) -> None:
        if found := re.match(r"(\d\.\d{1,2}(?:\.\d{1,2})?)", value):
            self.sheet.put("interpreter.version", found[1], where)

    def platform(self, where: str, value: str) -> None:
        if found := _PLATFORM.match(value):
            self.sheet.put("kernel.release", found[1], where)
            self.sheet.put("host.machine", found[2], where)
            if "microsoft" in found[1].lower():
                self.sheet.put("host.wsl", True, where)

    def gpu(self, where: str, value: str) -> None:
        vendor = "amd" if re.match(r"AMD|Radeon|Instinct", value) else "nvidia"
        if re.match(r"AMD|Radeon|Instinct|NVIDIA|Tesla|GeForce|Quadro|A\d{2,3}\b|H\d{3}\b", value):
            self.sheet.put("gpus[#0].vendor", vendor, where)
            self.sheet.put("gpus[#0].name", value[:100], where)

    def capability(self, where: str, value: str) -> None:
        if self.sheet.get("gpus[#0].vendor") == "amd":
            return  # HIP's two numbers are no architecture
        if found := re.match(r"(\d{1,2})\.(\d)$", value):
            self.sheet.put("gpus[#0].vendor", "nvidia", where)
            self.sheet.put("gpus[#0].arch", f"sm_{found[1]}{found[2]}", where)

    def toolkit(self, where: str, value: str) -> None:
        if found := re.match(r"\d{1,2}\.\d{1,2}", value):
            self.sheet.put("cuda[nvcc].path", "", where)
            self.sheet.put("cuda[nvcc].version", found[0], where)
            self.sheet.put("cuda[nvcc].kind", "toolkit", where)

    def shm(self, where: str, value: str) -> None:
        if found := _SHM.match(value):
            self.sheet.put("host.shm_bytes", int(float(found[1]) * _UNITS[found[2]]), where)

    def close(self) -> FactSheet:
        if self.packages:
            self.sheet.put("packages", self.packages, self.packages_at)
        if not len(self.sheet):
            raise ParserError("no known line of the report")
        return self.sheet


_ACTIONS: dict[str, Callable[[_Reader, str, str], None]] = {
    "pytorch version (gpu?)": _Reader.torch,
    "pytorch version (accelerator?)": _Reader.torch,
    "pytorch": _Reader.torch,
    "torch": _Reader.torch,
    "pytorch.version": _Reader.torch,
    "torch cuda": _Reader.cuda,
    "torch hip": _Reader.hip,
    "pytorch.cuda": _Reader.available,
    "python": _Reader.python,
    "platform": _Reader.platform,
    "gpu type": _Reader.gpu,
    "gpu.name": _Reader.gpu,
    "gpu.compute_capability": _Reader.capability,
    "nvcc version": _Reader.toolkit,
    "shared memory (/dev/shm) size": _Reader.shm,
}
