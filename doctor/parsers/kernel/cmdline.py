"""The kernel's command line, from `cat /proc/cmdline` -> itself, and the IOMMU's mode where it is set there.

>>> read("BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt").get("host.iommu")
'passthrough'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = ({"trust": 210, "words": ("boot_image=",), "commands": ("cmdline",)},)

_WORD = re.compile(r"[a-zA-Z][\w.,:-]{0,60}(?:=\S{0,400})?$")

_BOOTS = re.compile(
    r"(?:^|\s)(?:(?:BOOT_IMAGE|root|initrd|console|rd\.[\w.]+|\w*iommu|crashkernel|pci)=|(?:ro|rw|quiet|splash)(?!\S))"
)
_FLAGS = {"quiet", "splash", "ro", "rw", "nomodeset"}


def read(text: str, source: str = "text") -> FactSheet:
    """The first line whose words are all kernel parameters. Raises ParserError without one."""
    for where, line in source_lines(text, source):
        words = line.split()[:200]
        if not words or not all(_WORD.match(word) or word == "--" for word in words):
            continue
        if len(words) > 1 and not any("=" in word or word in _FLAGS for word in words):
            continue
        if not all("=" in word or "." in word or word in _FLAGS for word in words) and not _BOOTS.search(line):
            continue  # a sentence with an assignment in it
        sheet = FactSheet()
        sheet.put("kernel.cmdline", kept(line, 4000), where)
        iommu = {w.partition("=")[2] for w in words if w.startswith(("iommu=", "amd_iommu=", "intel_iommu="))}
        if "off" in iommu:
            sheet.put("host.iommu", "off", where)
        elif "pt" in iommu:
            sheet.put("host.iommu", "passthrough", where)
        return sheet
    raise ParserError("no kernel command line in the text")
