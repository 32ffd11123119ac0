"""What one file of /proc or /sys, or one field of modinfo, printed where its command was pasted with it.

>>> read_governor("performance").get("host.cpu_governor")
'performance'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {
        "trust": 640,
        "commands": ("/sys/module/", "modinfo -f", "modinfo --field", "modinfo nvidia"),
        "call": "read_version",
        "takes_command": True,
    },
    {"trust": 650, "commands": ("numa_balancing",), "call": "read_numa_balancing"},
    {"trust": 660, "commands": ("scaling_governor",), "call": "read_governor"},
    {"trust": 670, "commands": ("iommu_groups/",), "call": "read_iommu_domain"},
)

_GOVERNORS = "performance|powersave|ondemand|schedutil|conservative|userspace"
_NUMBER_ALONE = re.compile(r"\s{0,8}(\d{1,2})\s*$")
_GOVERNOR_ALONE = re.compile(rf"\s{{0,8}}({_GOVERNORS})\s*$")
_DOMAIN_ALONE = re.compile(r"\s{0,8}(?:/sys/kernel/iommu_groups/\d{1,4}/type:)?(identity|DMA|DMA-FQ)\s*$")
_ASKED = re.compile(
    r"(?:sudo )?(?:cat /sys/module/(?P<shown>amdgpu|nvidia)/version"
    r"|modinfo (?:-F ?|--field[= ])version (?P<field>amdgpu|nvidia))$"
)
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,4}$")
_ASKED_LICENSE = re.compile(
    r"(?:sudo )?modinfo (?:nvidia {0,2}\| {0,2}grep (?:-\w{1,3} )?[\"']?\^?license:?[\"']?"
    r"|(?:-F ?|--field[= ])license nvidia)$"
)
_LICENSE_OF = re.compile(r"(?:license:\s{0,16})?(Dual MIT/GPL|NVIDIA)$")
"""The open modules are under two licences (NVIDIA/open-gpu-kernel-modules kernel-open/nvidia/nv.c: MODULE_LICENSE)."""


def read_version(text: str, source: str = "text", command: str = "") -> FactSheet:
    """The version that the module itself, or its file, says it has, or its license, which tells the flavour. Raises
    ParserError where something else was asked for, or none came."""
    sheet = FactSheet()
    asked = _ASKED.match(command.strip()[:200])
    where, line = next(source_lines(text, source), ("", ""))
    if asked and _NUMBER.match(line.strip()):
        module = asked["shown"] or asked["field"]
        sheet.put(f"{module}_driver.version", line.strip(), where)
        if asked["shown"]:
            sheet.put(f"{module}_driver.loaded", True, where)
        if module == "amdgpu":  # the kernel's own has no version there
            sheet.put("amdgpu_driver.source", "dkms", where)
    if _ASKED_LICENSE.match(command.strip()[:200]) and (license_of := _LICENSE_OF.match(line.strip())):
        sheet.put("nvidia_driver.flavour", "proprietary" if license_of[1] == "NVIDIA" else "open", where)
    if not len(sheet):
        raise ParserError("no module was asked for its version")
    return sheet


def read_numa_balancing(text: str, source: str = "text") -> FactSheet:
    """What `cat /proc/sys/kernel/numa_balancing` printed."""
    return _printed(text, source, "numa")


def read_governor(text: str, source: str = "text") -> FactSheet:
    """What `cat …/cpufreq/scaling_governor` printed."""
    return _printed(text, source, "governor")


def read_iommu_domain(text: str, source: str = "text") -> FactSheet:
    """What `cat /sys/kernel/iommu_groups/…/type` printed, of one group or of several that agree: the groups of one
    machine may differ, and which is the GPUs' is then unknown."""
    found = [(where, m[1]) for where, line in source_lines(text, source) if (m := _DOMAIN_ALONE.match(line[:120]))]
    kinds = {kind == "identity" for _, kind in found}
    if len(kinds) != 1:
        raise ParserError("not that file's text")
    sheet = FactSheet()
    sheet.put("host.iommu", "passthrough" if kinds == {True} else "translated", found[0][0])
    return sheet


def _printed(text: str, source: str, asked: str) -> FactSheet:
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if line.strip():
            _answer(sheet, where, line, asked)
            break
    if not len(sheet):
        raise ParserError("not that file's text")
    return sheet


def _answer(sheet: FactSheet, where: str, line: str, asked: str) -> None:
    if asked == "numa" and (found := _NUMBER_ALONE.match(line)):
        sheet.put("host.numa_balancing", int(found[1]), where)
    elif asked == "governor" and (found := _GOVERNOR_ALONE.match(line)):
        sheet.put("host.cpu_governor", found[1], where)
    elif asked == "domain" and (found := _DOMAIN_ALONE.match(line[:120])):
        sheet.put("host.iommu", "passthrough" if found[1] == "identity" else "translated", where)
