"""What a text says in passing of the host around the GPUs: settings of the kernel, PCIe links, windows of memory.

Values stand on the line that names the file, or alone on the next one (`cat` and what it printed).

>>> read_iommu_domain("DMA-FQ").get("host.iommu")
'translated'

>>> read("cat /proc/sys/kernel/numa_balancing\\n1").get("host.numa_balancing")
1
>>> read("scaling_governor: powersave").get("host.cpu_governor")
'powersave'
>>> read("iommu: Default domain type: Translated").get("host.iommu")
'translated'
>>> read("CONFIG_IOMMU_DEFAULT_PASSTHROUGH=y").get("host.iommu")
'passthrough'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import source_lines

_LINE_LIMIT = 600
_NUMA = re.compile(r"(?<!sysctl kernel\.)(?<!-w kernel\.)numa_balancing['\"]?\s{0,3}(?:[:=]|is|\s)\s{0,3}([0-3])\b")
_NUMA_ASKED = re.compile(r"numa_balancing\s*$")
_GOVERNORS = "performance|powersave|ondemand|schedutil|conservative|userspace"
_GOVERNOR = re.compile(rf"(?:scaling_governor|governor)['\"]?\s{{0,3}}(?:[:=]|is|\s)\s{{0,3}}[\"']?({_GOVERNORS})\b")
_GOVERNOR_ASKED = re.compile(r"scaling_governor\s*$")
_DOMAIN_ASKED = re.compile(r"/sys/kernel/iommu_groups/[\w*]{1,6}/type\s*$")
_QUESTIONS = (("numa", _NUMA_ASKED), ("governor", _GOVERNOR_ASKED), ("domain", _DOMAIN_ASKED))
_DOMAIN_ALONE = re.compile(r"\s{0,8}(?:/sys/kernel/iommu_groups/\d{1,4}/type:)?(identity|DMA|DMA-FQ)\s*$")
"""What the kernel writes into `iommu_groups/N/type` (Documentation/ABI/testing/sysfs-kernel-iommu_groups)."""
_GOVERNOR_ALONE = re.compile(rf"\s{{0,8}}({_GOVERNORS})\s*$")
_NUMBER_ALONE = re.compile(r"\s{0,8}(\d{1,2})\s*$")
_IOMMU = re.compile(
    r"iommu: Default domain type: (Translated|Passthrough)|"
    r"\bIOMMU\b[^\n]{0,24}(?<!not )\b(translat)(?:ing|es|ion (?:on|enabled))\b",
    re.IGNORECASE,
)
_IOMMU_OFF = re.compile(r"\bIOMMU[: ]{1,3}(?:is |was )?(?:disabled|(?:turned |switched )?off)\b", re.IGNORECASE)
_IOMMU_BUILT_IN = re.compile(r"^\s{0,20}CONFIG_IOMMU_DEFAULT_PASSTHROUGH=y\b")
"""The kernel's own configuration: without a word on its command line the IOMMU passes through."""
_OF_A_TRIAL = re.compile(
    r"\b(?:if|when|once|with|without|try|tried|trying|works?|worked|fix\w*|solv\w*|helps?|helped|cure[sd]|should|must|need\w*"
    r"|recommend\w*|not|n['’]t|kvm|vm|guest)\b",
    re.IGNORECASE,
)
"""What is told of a remedy, or of another machine."""
_MEMORY = re.compile(r"mem_info_(vis_vram|vram|gtt)_total['\"]?\s{0,3}[:=]?\s{0,3}(\d{6,15})\b")
_LIMITED = re.compile(
    r"available PCIe bandwidth, limited by ([\d.]{1,5}) GT/s PCIe x(\d{1,2}) link at .{4,40}?"
    r"\(capable of .{4,40}? with ([\d.]{1,5}) GT/s PCIe x(\d{1,2}) link"
)
_PCI_DEVICE = re.compile(r"\b((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")
_QUERIED = re.compile(r"pcie\.link\.width\.(current|max)['\"]?\s{0,3}[:=,]?\s{0,3}(\d{1,2})\b")
_LNK = re.compile(r"\bLnk(Cap|Sta):.{0,60}?Width x(\d{1,2})\b")
_SECURE_BOOT = re.compile(r"\bSecure ?Boot (?:is )?(enabled|disabled|on|off)\b", re.IGNORECASE)
_WORDS = ("boot", "numa_balancing", "governor", "iommu", "mem_info_", "pcie", "lnkcap:", "lnksta:")
_MEMORY_FACT = {"vis_vram": "visible_memory_bytes", "vram": "memory_bytes", "gtt": "gtt_bytes"}


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without any of it."""
    sheet = FactSheet()
    asked = ""
    for where, line in source_lines(text, source):
        if asked:
            _answer(sheet, where, line, asked)
            asked = ""
        low = line.lower()
        if len(line) > _LINE_LIMIT or not any(word in low for word in _WORDS):
            continue
        for name, value in (*_settings(line), *_windows(line), *_links(line)):
            sheet.put(name, value, where)
        asked = next((what for what, question in _QUESTIONS if question.search(line)), "")
    if not len(sheet):
        raise ReaderError("nothing said of the host")
    return sheet


def read_numa_balancing(text: str, source: str = "text") -> FactSheet:
    """What `cat /proc/sys/kernel/numa_balancing` printed."""
    return _printed(text, source, "numa")


def read_governor(text: str, source: str = "text") -> FactSheet:
    """What `cat …/cpufreq/scaling_governor` printed."""
    return _printed(text, source, "governor")


def read_iommu_domain(text: str, source: str = "text") -> FactSheet:
    """What `cat /sys/kernel/iommu_groups/…/type` printed, of one group or of several that agree: the groups of one
    machine may differ, and then it is not told which is the GPUs'."""
    found = [(where, m[1]) for where, line in source_lines(text, source) if (m := _DOMAIN_ALONE.match(line[:120]))]
    kinds = {kind == "identity" for _, kind in found}
    if len(kinds) != 1:
        raise ReaderError("not that file's text")
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
        raise ReaderError("not that file's text")
    return sheet


def _answer(sheet: FactSheet, where: str, line: str, asked: str) -> None:
    if asked == "numa" and (found := _NUMBER_ALONE.match(line)):
        sheet.put("host.numa_balancing", int(found[1]), where)
    elif asked == "governor" and (found := _GOVERNOR_ALONE.match(line)):
        sheet.put("host.cpu_governor", found[1], where)
    elif asked == "domain" and (found := _DOMAIN_ALONE.match(line[:120])):
        sheet.put("host.iommu", "passthrough" if found[1] == "identity" else "translated", where)


def _settings(line: str) -> Iterator[tuple[str, int | str]]:
    if found := _NUMA.search(line):
        yield "host.numa_balancing", int(found[1])
    if found := _GOVERNOR.search(line):
        yield "host.cpu_governor", found[1]
    if found := _SECURE_BOOT.search(line):
        yield "kernel.secure_boot", found[1].lower() in ("enabled", "on")
    if _IOMMU_OFF.search(line) and not _OF_A_TRIAL.search(line):
        yield "host.iommu", "off"
    elif _IOMMU_BUILT_IN.search(line):
        yield "host.iommu", "passthrough"
    elif found := _IOMMU.search(line):
        yield "host.iommu", "passthrough" if (found[1] or "").lower() == "passthrough" else "translated"


def _windows(line: str) -> Iterator[tuple[str, int | str]]:
    for found in _MEMORY.finditer(line):
        yield "gpus[#0].vendor", "amd"
        yield f"gpus[#0].{_MEMORY_FACT[found[1]]}", int(found[2])


def _links(line: str) -> Iterator[tuple[str, int | str | float]]:
    # The bus says it of every device (`pci 0000:08:00.0: …`); of a GPU its driver repeats it.
    ours = " pci 0000:" not in line and not line.startswith("pci 0000:")
    if ours and (found := _LIMITED.search(line)) and (device := _PCI_DEVICE.search(line.lower())):
        address = device[1] if device[1].count(":") == 2 else f"0000:{device[1]}"
        yield f"gpus[{address}].pci_address", address
        yield f"gpus[{address}].link.speed_gt_s", float(found[1])
        yield f"gpus[{address}].link.width", int(found[2])
        yield f"gpus[{address}].link.max_speed_gt_s", float(found[3])
        yield f"gpus[{address}].link.max_width", int(found[4])
    for found in _QUERIED.finditer(line):
        yield "gpus[#0].vendor", "nvidia"
        yield f"gpus[#0].link.{'max_' if found[1] == 'max' else ''}width", int(found[2])
