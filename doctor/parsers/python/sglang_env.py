"""`python3 -m sglang.check_env` -> torch, packages, driver and GPUs. Its `CUDA Driver Version` is the driver's own.

>>> sheet = read("CUDA available: True\\nGPU 0,1: NVIDIA H100 80GB HBM3\\nGPU 0,1 Compute Capability: 9.0\\n"
...              "CUDA Driver Version: 550.54.15\\nPyTorch: 2.6.0+cu124\\nsglang: 0.4.4")
>>> sheet.get("gpus[#1].arch"), sheet.get("nvidia_driver.version"), sheet.get("torch.available")
('sm_90', '550.54.15', True)
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts

PASTED = ({"trust": 400, "words": ("sglang: ", "flashinfer: ", "flashinfer_python: ", "sgl_kernel: ")},)

_LINE = re.compile(r"\s{0,4}([A-Za-z][\w .,-]{1,80}?): (\S.{0,200})$")
_GPUS = re.compile(r"GPU ((?:\d{1,3},){0,63}\d{1,3})(?P<capability> Compute Capability)?$")
_MARKS = re.compile(r"^\s{0,4}(?:sglang|sgl_kernel|flashinfer_python|flashinfer): \d", re.MULTILINE)
_RELEASE = re.compile(r"\d[\w.+-]{0,60}$")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where neither sglang's version nor that of its kernels is shown."""
    if not _MARKS.search(text):
        raise ParserError("no report of sglang.check_env")
    sheet = FactSheet()
    rows: list[dict[str, str]] = []
    first = ""
    for where, line in source_lines(text, source):
        if not (found := _LINE.match(line[:400])):
            continue
        label, value = found[1], kept(found[2], 200)
        if numbers := _GPUS.match(label):
            _gpus(sheet, where, numbers, value)
        elif not _known(sheet, where, label, value) and re.fullmatch(r"[a-z][\w.-]{1,40}", label):
            row = packages.package(label, value) if _RELEASE.match(value) else None
            if row and len(rows) < packages.LIMIT:
                rows.append(row)
                first = first or where
    if rows:
        sheet.put("packages", rows, first)
    return sheet


def _gpus(sheet: FactSheet, where: str, numbers: re.Match[str], value: str) -> None:
    amd = bool(re.match(r"AMD|Radeon|Instinct", value))
    arch = re.match(r"(\d{1,2})\.(\d)$", value)
    for number in numbers[1].split(","):
        at = f"gpus[#{int(number)}]"
        if numbers["capability"]:
            if arch and sheet.get(f"{at}.vendor") == "nvidia":
                sheet.put(f"{at}.arch", f"sm_{arch[1]}{arch[2]}", where)
        elif amd or re.match(r"NVIDIA|Tesla|GeForce|Quadro", value):
            sheet.put(f"{at}.vendor", "amd" if amd else "nvidia", where)
            sheet.put(f"{at}.name", value[:100], where)


def _known(sheet: FactSheet, where: str, label: str, value: str) -> bool:
    if label in ("CUDA available", "ROCM available"):
        if value in ("True", "False"):
            sheet.put("torch.available", value == "True", where)
    elif label == "PyTorch":
        for name, fact in build_facts(value.split()[0]).items():
            sheet.put(name, fact, where)
    elif label == "Python" and (found := re.match(r"\d\.\d{1,2}(?:\.\d{1,2})?", value)):
        sheet.put("interpreter.version", found[0], where)
    elif label == "CUDA Driver Version" and (found := re.match(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?", value)):
        sheet.put("nvidia_driver.version", found[0], where)
    elif label == "ROCM Driver Version" and (found := re.match(r"\d{1,2}\.\d{1,3}\.\d{1,3}$", value)):
        sheet.put("amdgpu_driver.version", found[0], where)
    elif label in ("ulimit soft", "ulimit hard"):
        if label.endswith("soft") and re.fullmatch(r"[0-9]{1,12}", value):
            sheet.put("host.nofile", int(value), where)
    elif label in ("CUDA_HOME", "ROCM_HOME") and re.match(r"/[\w./+-]{1,120}$", value):
        sheet.put(f"environment[{label}]", value, where)
    else:
        return False
    return True
