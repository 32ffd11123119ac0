"""What ROCm's smaller tools and libraries print: `hipconfig`, `hipcc --version`, `rocm_agent_enumerator`, the benches
of rocBLAS and hipBLASLt, MIOpen's log, debugfs' amdgpu_firmware_info -> the HIP release, paths, GPUs with their
architecture, firmware.

>>> read("HIP version: 7.12.60610-2bd1678d3d\\nROCM_PATH          :/opt/rocm").get("rocm[/opt/rocm].path")
'/opt/rocm'
>>> read("Device ID 0 : AMD Instinct MI210 gfx90a:sramecc+:xnack-").get("gpus[#0].arch")
'gfx90a'
>>> [e.value for e in read("gfx000\\ngfx942\\ngfx942") if e.name.endswith("arch")]
['gfx942', 'gfx942']
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 360,
        "words": (
            "hip version: ",
            "hip version  :",
            "query device success",
            "device id 0 :",
            "raw device name",
            "gfx000",
            "feature version: ",
        ),
        "commands": ("hipconfig", "rocm_agent_enumerator", "hipcc"),
    },
    {"trust": 370, "commands": (".info/version", "rocm version"), "call": "read_version"},
)

_HIP = re.compile(
    r"\s{0,8}(?:hipcc(?: --version)?[ :=]{1,4})?HIP version\s{0,4}: ?(\d{1,2}\.\d{1,3})\.\d{1,6}(?:-[0-9a-f]{5,12})?\b"
)
_PATH = re.compile(r"\s{0,8}(ROCM_PATH|HIP_PATH)\s{0,20}:\s{0,2}(/[\w./+-]{1,200})\s*$")
_INSTALLED = re.compile(r"\s{0,8}InstalledDir: (/[\w./+-]{1,160}?)/(?:lib/)?llvm/bin\s*$")
_BENCH = re.compile(r"\s{0,8}Device ID (\d{1,3}) : (\S.{1,80}?) (gfx[0-9a-f]{3,4})(?::[\w+-]{3,20}){0,3}\s*$")
_MIOPEN = re.compile(r".{0,80}?Raw device name: (gfx[0-9a-f]{3,4})\b")
_ARCH = re.compile(r"\s{0,8}(gfx[0-9a-f]{3,4})\s*$")
_FIRMWARE = re.compile(
    r"\s{0,8}([A-Z][A-Z0-9_ ]{1,20}) feature version: \d{1,10}, firmware version: (0x[0-9a-f]{8})\s*$"
)
_LIMIT = 256


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where none of these tools speaks."""
    sheet = FactSheet()
    agents: list[tuple[str, str]] = []
    firmware: dict[str, str] = {}
    others = closed = 0
    hip = path = ("", "")
    for where, line in source_lines(text, source):
        line = line[:400]
        if found := _HIP.match(line):
            hip = hip if hip[0] else (found[1], where)
        elif found := _PATH.match(line) or _INSTALLED.match(line):
            path = path if path[0] and found[1] != "ROCM_PATH" else (found[found.re.groups], where)
        elif found := _BENCH.match(line):
            _gpu(sheet, int(found[1]), found[3], where)
            sheet.put(f"gpus[#{int(found[1])}].name", kept(found[2], 80), where)
        elif found := _MIOPEN.match(line):
            _gpu(sheet, 0, found[1], where)
        elif "firmware version" in line and (found := _FIRMWARE.match(line)):
            firmware.setdefault(found[1], found[2])
            sheet.put("gpus[#0].firmware", firmware, where)  # of one GPU: the file lies in that GPU's folder
            sheet.put("gpus[#0].vendor", "amd", where)
        elif found := _ARCH.match(line):
            agents.append((found[1], where))
        elif line.strip():
            others += 1
            if agents and agents[-1][1] and not closed:
                closed = len(agents)
    whole = agents[: closed or None]
    # rocm_agent_enumerator begins with gfx000, the CPU, which nothing else prints.
    if agents and (not others or (len(whole) > 1 and whole[0][0] == "gfx000")):
        agents = whole
        for number, (arch, where) in enumerate([a for a in agents if a[0] != "gfx000"][:_LIMIT]):
            _gpu(sheet, number, arch, where)
    if hip[0]:
        _release(sheet, hip, path)
    if not len(sheet):
        raise ParserError("none of ROCm's smaller tools")
    return sheet


def read_version(text: str, source: str = "text") -> FactSheet:
    """What a file `.info/version`, or rocm_techsupport's section of it, holds: one line with a release."""
    for where, line in source_lines(text, source):
        if found := re.match(r"\s{0,8}(\d{1,2}\.\d{1,2}\.\d{1,2})(?:[-.]\d{1,8})?\s*$", line[:80]):
            sheet = FactSheet()
            sheet.put("rocm[shown].path", "", where)
            sheet.put("rocm[shown].version", found[1], where)
            return sheet
    raise ParserError("no release of ROCm in the text")


def _gpu(sheet: FactSheet, number: int, arch: str, where: str) -> None:
    sheet.put(f"gpus[#{number}].vendor", "amd", where)
    sheet.put(f"gpus[#{number}].arch", arch, where)


def _release(sheet: FactSheet, hip: tuple[str, str], path: tuple[str, str]) -> None:
    """HIP counts as ROCm does in its first two numbers; the third is its own."""
    key = path[0].rstrip("/") or "shown"
    sheet.put(f"rocm[{key}].path", path[0].rstrip("/"), path[1] or hip[1])
    sheet.put(f"rocm[{key}].version", hip[0], hip[1])
