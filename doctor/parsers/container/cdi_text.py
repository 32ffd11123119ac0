"""A CDI spec in a pasted text -> the devices that it names, and the driver whose libraries it mounts.

>>> sheet = read('{"cdiVersion": "0.5.0",\\n "kind": "nvidia.com/gpu", "devices": [{"name": "all"}], "containerEdits":'
...              ' {"mounts": [{"hostPath": "/usr/lib/libcuda.so.575.57.08", "containerPath": "/x"}]}}')
>>> sheet.get("cdi[shown].kind"), sheet.get("container.cdi_driver")
('nvidia.com/gpu', '575.57.08')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.container import cdi_spec
from doctor.parsers.lib.printable import clean

PASTED = (
    {"trust": 270, "words": ("cdiversion",)},
    {"trust": 280, "words": ("major: ", 'major": ', "major:"), "call": "read_nodes"},
)

_DRIVER = re.compile(r"/lib(?:cuda|nvidia-ml)\.so\.(\d{3}\.\d{1,3}(?:\.\d{1,3})?)$")
_SHOWN = 256
_NUMBERED = re.compile(
    r"^[ \t]{0,40}(?:\S{1,80}: )?(?:- )?[\"']?(?:hostPath|path)[\"']?: ?[\"']?"
    r"(/dev/(?:nvidia[\w/-]{0,24}|kfd|dri/\w{1,16}))[\"']?,?"
    r"(?:[ \t]{1,4}|[ \t]{0,8}\n(?:[ \t]{1,40}[\"']?\w{1,16}[\"']?: [^\n]{1,60}\n){0,3}[ \t]{1,40})"
    r"[\"']?major[\"']?: ?(\d{1,4})\b",
    re.MULTILINE,
)
"""A device node of a spec with its major number, where no more of the spec is shown."""


def read(text: str, source: str = "text") -> FactSheet:
    """Where the spec lies is not shown: its key is `shown`. Raises ParserError where the text is none."""
    begin = re.search(r"^[ \t]{0,20}(?:\{|---|cdiVersion:)", text, re.MULTILINE)
    start = begin.start() if begin else 0
    spec = cdi_spec.read(text[start:])
    where = f"{source}:{text.count(chr(10), 0, max(text.find('cdiVersion'), 0)) + 1}"
    sheet = FactSheet()
    sheet.put("cdi[shown].kind", clean(spec.kind, 100), where)
    sheet.put("cdi[shown].version", spec.version, where)
    sheet.put("cdi[shown].devices", [clean(name, 100) for name in list(spec.devices)[:_SHOWN]], where)
    if majors := spec.majors():
        sheet.put("cdi[shown].majors", dict(list(majors.items())[:_SHOWN]), where)
    driver = next((found[1] for path in spec.needs() if (found := _DRIVER.search(path))), None)
    if driver:
        line = text.count("\n", 0, max(text.find(f".so.{driver}"), 0)) + 1
        sheet.put("cdi[shown].driver", driver, f"{source}:{line}")
        sheet.put("container.cdi_driver", driver, f"{source}:{line}")
    return sheet


def read_nodes(text: str, source: str = "text") -> FactSheet:
    """Device nodes and their numbers out of a spec of which only a part is shown. Raises ParserError without any.

    >>> read_nodes("  deviceNodes:\\n  - path: /dev/nvidia-uvm\\n    major: 506\\n").get("cdi[shown].majors")
    {'/dev/nvidia-uvm': 506}
    """
    found = list(_NUMBERED.finditer(text))
    if not found or "cdiVersion" in text:
        raise ParserError("no numbered device node of a CDI spec, or a whole one")
    sheet = FactSheet()
    where = f"{source}:{text.count(chr(10), 0, found[0].start()) + 1}"
    kind = "nvidia.com/gpu" if "/dev/nvidia" in found[0][1] else "amd.com/gpu"
    sheet.put("cdi[shown].kind", kind, where)
    sheet.put("cdi[shown].majors", {one[1]: int(one[2]) for one in found[:_SHOWN]}, where)
    return sheet
