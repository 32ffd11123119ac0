"""Output of `python -m torch.utils.collect_env` (1.13 to now), and of vLLM's and others' collect_env -> facts.

"Could not collect", "N/A" and "No CUDA" are unknown, except where the field makes them known: `CUDA used to build
PyTorch: None` with no ROCm is a CPU build.

>>> sheet = read("PyTorch version: 2.4.1+cu121\\nIs CUDA available: True")
>>> sheet.get("torch.build"), sheet.get("torch.available")
('cuda', True)
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts
from doctor.parsers.text.env_words import for_one_command
from doctor.parsers.text.os_name import os_facts

PASTED = (
    {
        "trust": 450,
        "words": (
            "pytorch version",
            "used to build pytorch",
            "is cuda available",
            "python platform",
            "gpu models and",
            "[pip3]",
            "[conda]",
            "hip runtime",
        ),
        "commands": ("collect_env", "collect-env"),
    },
)

_LABEL = re.compile(r"\s{0,4}(?:[-*] )?\**([A-Za-z][\w ./-]{1,40}?)\**\s{0,30}:\s?(.*)$")
_UNKNOWN = {"", "n/a", "could not collect", "none", "no cuda", "unknown", "not available"}
_GPU = re.compile(r"(?:GPU (\d{1,3}): )?(.{2,120}?)(?: \(UUID: ([\w-]{8,60})\))?$")
_MIG = re.compile(r"\s+MIG (\S.{0,30}?)\s+Device\s+(\d{1,3}):(?: \(UUID: (MIG-[0-9A-Za-z/-]{1,90})\))?\s*$")
"""What `nvidia-smi -L` lists below a GPU; torch's collect_env leaves the UUIDs out."""
_PACKAGE = re.compile(r"\s{0,4}\[(pip3?|conda|uv)\]\s+(\S{1,100}?)(?:==|\s+)(\S{1,60})(?:\s|$)")
_PLATFORM = re.compile(r"Linux-(\d+\.\d+[^ ]*?)(?:-(x86_64|aarch64|ppc64le))?-with")
_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]{2,60})=(.*)$")
_KNOWN_LABELS = frozenset(
    (
        *("pytorch version", "cuda used to build pytorch", "rocm used to build pytorch", "is cuda available"),
        *("cuda runtime version", "nvidia driver version", "hip runtime version", "gpu models and configuration"),
        *("python platform", "libc version", "miopen runtime version", "is debug build", "is xnnpack available"),
        *("cuda_module_loading set to", "python version", "rocm version"),
    )
)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where none of collect_env's labels is in the text, nor a row of its packages."""
    reader = _Reader()
    for where, line in source_lines(text, source):
        reader.take(where, line)
    reader.close()
    if not reader.labels and not reader.packages:
        raise ParserError("none of collect_env's labels in the text")
    return reader.sheet


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.labels = 0
        self.cuda_built = self.rocm_built = ""
        self.built_at = ""
        self.in_gpus = False
        self.gpus = 0
        self.key = ""
        self.packages: list[dict[str, str]] = []
        self.packages_at = ""

    def take(self, where: str, line: str) -> None:
        if self.in_gpus and (found := re.match(r"\s*GPU (\d{1,3}): ", line)):
            self.gpu(where, line.strip())
            return
        if self.in_gpus and self.key and (found := _MIG.match(line)):
            self.instance(where, found)
            return
        if found := _PACKAGE.match(line):
            self.package(where, found[2], found[3])
            return
        self.in_gpus = False
        if (found := _LABEL.match(line)) and found[1].strip().lower() in _LABELS:
            key, value = found[1].strip().lower(), found[2].strip()
            self.labels += key in _KNOWN_LABELS
            _LABELS[key](self, where, kept(value))
            return
        if found := _VARIABLE.match(line):
            value = found[2].split()[0].rstrip(";") if for_one_command(found[2]) else found[2]
            self.sheet.put(f"environment[{found[1]}]", kept(value), where)

    def package(self, where: str, name: str, version: str) -> None:
        row = packages.package(name, version)
        if row and len(self.packages) < packages.LIMIT:
            self.packages.append(row)
            self.packages_at = self.packages_at or where
            if row["name"] in ("torch", "pytorch"):
                self.facts(where, build_facts(version))

    def facts(self, where: str, facts: dict[str, str | bool]) -> None:
        for name, value in facts.items():
            self.sheet.put(name, value, where)

    def gpu(self, where: str, value: str) -> None:
        found = _GPU.match(value)
        if not found or found[2].lower() in _UNKNOWN or self.gpus >= 256:
            return
        key = f"gpus[#{int(found[1]) if found[1] else self.gpus}]"
        self.gpus += 1
        self.key = key
        self.in_gpus = True
        name = found[2]
        if arch := re.search(r"\((gfx[0-9a-f]{3,4})[^)]{0,40}\)", name):
            name = name[: arch.start()].strip()
            self.sheet.put(f"{key}.arch", arch[1], where)
        if name:
            self.sheet.put(f"{key}.name", name, where)
        vendor = "amd" if arch or re.search(r"AMD|Radeon|Instinct", name) else "nvidia"
        self.sheet.put(f"{key}.vendor", vendor, where)
        if found[3]:
            self.sheet.put(f"{key}.uuid", found[3], where)

    def instance(self, where: str, found: re.Match[str]) -> None:
        base = f"{self.key}.partitions[mig{int(found[2])}]"
        for fact, word in (("kind", "mig"), ("name", found[1]), ("uuid", found[3])):
            if word:
                self.sheet.put(f"{base}.{fact}", word, where)
        self.sheet.put(f"{self.key}.mig_mode", "enabled", where)

    def torch(self, where: str, value: str) -> None:
        if re.match(r"\d", value):
            self.facts(where, build_facts(value.split()[0]))
        elif value.lower() in ("not installed", "none"):
            self.sheet.absent("torch.installed", where, False)

    def cuda_build(self, where: str, value: str) -> None:
        self.cuda_built, self.built_at = value, where

    def rocm_build(self, where: str, value: str) -> None:
        self.rocm_built, self.built_at = value, where

    def available(self, where: str, value: str) -> None:
        if value.lower() in ("true", "false", "yes", "no"):  # Yes and No up to torch 1.5
            self.sheet.put("torch.available", value.lower() in ("true", "yes"), where)

    def toolkit(self, where: str, value: str) -> None:
        if re.match(r"\d+\.\d+", value):
            self.facts(where, {"cuda[nvcc].path": "", "cuda[nvcc].version": value, "cuda[nvcc].kind": "toolkit"})

    def driver(self, where: str, value: str) -> None:
        if re.match(r"\d{2,}\.\d+", value):
            self.sheet.put("nvidia_driver.version", value.split()[0], where)

    def gpu_models(self, where: str, value: str) -> None:
        self.in_gpus = True
        if value.lower() not in _UNKNOWN:
            self.gpu(where, value)

    def os(self, where: str, value: str) -> None:
        if value.lower() not in _UNKNOWN:
            self.facts(where, os_facts(value))

    def python(self, where: str, value: str) -> None:
        if found := re.match(r"(\d+\.\d+(?:\.\d+\w*)?)", value):
            self.sheet.put("interpreter.version", found[1], where)

    def platform(self, where: str, value: str) -> None:
        if found := _PLATFORM.search(value):
            self.sheet.put("kernel.release", found[1], where)
            if found[2]:
                self.sheet.put("host.machine", found[2], where)
            if "microsoft" in found[1].lower():
                self.sheet.put("host.wsl", True, where)
        elif value in ("aarch64", "x86_64", "ppc64le"):
            self.sheet.put("host.machine", value, where)
        elif value.startswith("Windows"):
            self.facts(where, os_facts(value.replace("-", " ")))

    def cudnn(self, where: str, value: str) -> None:
        if found := re.search(r"(?:^|libcudnn\.so\.)(\d[\d.]*)", value):
            self.sheet.put("torch.cudnn", found[1], where)

    def hip(self, where: str, value: str) -> None:
        if re.match(r"\d", value):
            self.sheet.put("torch.hip", value, where)

    def rocm(self, where: str, value: str) -> None:
        if found := re.match(r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", value):
            self.facts(where, {"rocm[shown].path": "", "rocm[shown].version": found[1]})

    def vllm(self, where: str, value: str) -> None:
        self.package(where, "vllm", value.split()[0] if value else "")

    def cpu(self, where: str, value: str) -> None:
        if value:
            self.sheet.put("host.cpu", value[:120], where)

    def gcc(self, where: str, value: str) -> None:
        if found := re.search(r"\b(\d{1,2}\.\d{1,2}\.\d{1,2})\b", value):
            self.sheet.put("host.gcc_version", found[1], where)

    def module_loading(self, where: str, value: str) -> None:
        if value in ("LAZY", "EAGER"):
            self.sheet.put("environment[CUDA_MODULE_LOADING]", value, where)

    def close(self) -> None:
        if self.packages:
            self.sheet.put("packages", self.packages, self.packages_at)
        cuda, rocm, where = self.cuda_built.lower(), self.rocm_built.lower(), self.built_at
        if re.match(r"\d", rocm) and rocm != _UNSET:
            self.facts(where, {"torch.build": "rocm", "torch.hip": self.rocm_built})
        elif re.match(r"\d", cuda):
            self.facts(where, {"torch.build": "cuda", "torch.cuda": self.cuda_built})
        elif ((cuda == "none" and rocm in ("", "n/a", "none")) or rocm == _UNSET) and self.sheet.get("torch.version"):
            self.sheet.put("torch.build", "cpu", where)


_UNSET = "0.0.0"
"""`ROCM used to build PyTorch` of a source build whose build found no ROCm (torch's CMake then writes no release)."""

_LABELS = {
    "pytorch version": _Reader.torch,
    "torch version": _Reader.torch,
    "cuda used to build pytorch": _Reader.cuda_build,
    "rocm used to build pytorch": _Reader.rocm_build,
    "is cuda available": _Reader.available,
    "cuda runtime version": _Reader.toolkit,
    "gpu models and configuration": _Reader.gpu_models,
    "nvidia driver version": _Reader.driver,
    "os": _Reader.os,
    "python version": _Reader.python,
    "python platform": _Reader.platform,
    "cudnn version": _Reader.cudnn,
    "hip runtime version": _Reader.hip,
    "rocm version": _Reader.rocm,
    "vllm version": _Reader.vllm,
    "model name": _Reader.cpu,
    "gcc version": _Reader.gcc,
    "cuda_module_loading set to": _Reader.module_loading,
    "is debug build": lambda *_: None,
    "libc version": lambda *_: None,
    "miopen runtime version": lambda *_: None,
    "is xnnpack available": lambda *_: None,
}
