"""Debug logs of NCCL and RCCL (`NCCL_DEBUG=INFO`) and the head of nccl-tests -> versions, variables, GPUs and NICs.

>>> sheet = read("n1:10:10 [0] NCCL INFO cudaDriverVersion 12040\\n"
...              "n1:10:10 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\\n"
...              "n1:10:10 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB eth0:10.0.0.1<0>")
>>> sheet.get("nvidia_driver.cuda_version"), sheet.get("environment[NCCL_IB_DISABLE]")
('12.4', '1')
>>> sheet.get("rdma[mlx5_1].link_layer")
'Ethernet'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {"trust": 350, "words": ("nccl info", "nccl warn", "cudadriverversion", "rccl version", "# nccl-tests", "#  rank")},
)

_DRIVER = re.compile(r"\bcudaDriverVersion (\d{2})0(\d)0\b|\bCUDA Driver version (\d{1,2})\.(\d)\b")
_SET = re.compile(
    r"\b((?:NCCL|RCCL|HSA|HIP|CUDA|UCX|FI)_[A-Z0-9_]{1,60}) set (?:by environment )?to (\S{1,200}?)\.?(?:\s|$)"
)
_USING = re.compile(r"NET/IB : Using (.{1,1500})")
_NIC = re.compile(r"\[\d{1,3}\]([A-Za-z][\w-]{1,40}):\d{1,3}/(IB|RoCE)")
_ROCM = re.compile(r"ROCm version\s{0,4}:\s{0,4}(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_KERNEL = re.compile(r"Kernel version: (\d\.\d{1,3}[\w.+-]{0,80})")
_RANK = re.compile(r"\b(?:cudaDev|hipDev) (\d{1,3}) (?:nvmlDev \d{1,3} )?busId ([0-9a-f]{3,12})\b")
_TEST = re.compile(
    r"#\s{1,4}Rank\s{1,6}\d{1,6}(?: Group\s{1,6}\d{1,4})? Pid\s{1,8}\d{1,10} on\s{1,40}\S{1,80} device\s{1,4}(\d{1,3}) "
    r"\[((?:0000|[0-9a-f]{4,8}):[0-9a-f]{2}:[0-9a-f]{2}|0x[0-9a-f]{2})\] (\S.{2,80})$"
)
_LIMIT = 64


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where no line of such a log says anything."""
    sheet = FactSheet()
    gpus: set[str] = set()
    for where, line in source_lines(text, source):
        if "NCCL" in line:
            _log(sheet, where, line[:2000], gpus)
        elif "version" in line and (found := _ROCM.search(line)) and "RCCL" in text:
            sheet.put("rocm[shown].path", "", where)
            sheet.put("rocm[shown].version", found[1], where)
        elif "#" in line and (found := _TEST.match(line)):
            _tested(sheet, where, found, gpus)
    if not len(sheet):
        raise ParserError("no line by NCCL or RCCL")
    return sheet


def _log(sheet: FactSheet, where: str, line: str, gpus: set[str]) -> None:
    if found := _DRIVER.search(line):
        sheet.put("nvidia_driver.cuda_version", f"{found[1] or found[3]}.{found[2] or found[4]}", where)
    elif found := _SET.search(line):
        sheet.put(f"environment[{found[1]}]", kept(found[2], 200), where)
    elif found := _USING.search(line):
        for name, kind in _NIC.findall(found[1])[:_LIMIT]:
            sheet.put(f"rdma[{name}].link_layer", "InfiniBand" if kind == "IB" else "Ethernet", where)
    elif found := _ROCM.search(line):
        sheet.put("rocm[shown].path", "", where)
        sheet.put("rocm[shown].version", found[1], where)
    elif found := _KERNEL.search(line):
        sheet.put("kernel.release", found[1], where)
    elif "busId" in line and (found := _RANK.search(line)):
        _rank(sheet, where, int(found[1]), int(found[2], 16), gpus)


def _rank(sheet: FactSheet, where: str, number: int, place: int, gpus: set[str]) -> None:
    """busId is the address without its signs: `c1000` is 0000:c1:00.0. Ranks of other nodes may bear the same."""
    key = f"{place >> 20:04x}:{place >> 12 & 255:02x}:{place >> 4 & 31:02x}.{place & 7:x}"
    if place >> 36 or (key not in gpus and len(gpus) >= _LIMIT):
        return
    gpus.add(key)
    sheet.put(f"gpus[{key}].pci_address", key, where)
    sheet.put(f"gpus[{key}].index.visible", number, where)


def _tested(sheet: FactSheet, where: str, found: re.Match[str], gpus: set[str]) -> None:
    name = kept(found[3], 80)
    vendor = (
        "amd"
        if re.match(r"AMD|Radeon|Instinct", name)
        else "nvidia"
        if re.match(r"NVIDIA|Tesla|GeForce|Quadro|[AHBL]\d", name)
        else ""
    )
    long = re.fullmatch(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})", found[2])
    key = f"{long[1][-4:]}:{long[2]}:{long[3]}.0" if long else f"#{int(found[1])}"
    if not vendor or (key not in gpus and len(gpus) >= _LIMIT):
        return
    gpus.add(key)
    sheet.put(f"gpus[{key}].vendor", vendor, where)
    sheet.put(f"gpus[{key}].name", name, where)
    sheet.put(f"gpus[{key}].index.visible", int(found[1]), where)
    if long:
        sheet.put(f"gpus[{key}].pci_address", key, where)
