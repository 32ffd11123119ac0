"""`modinfo nvidia`, `modinfo amdgpu` -> the module file that the running kernel would load.

>>> sheet = read("filename: /lib/modules/6.8.0/updates/dkms/nvidia.ko.zst\\nversion: 575.57.08\\nlicense: Dual MIT/GPL")
>>> sheet.get("nvidia_driver.module_on_disk"), sheet.get("nvidia_driver.flavour")
('575.57.08', 'open')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 340, "words": ("/lib/modules/",)},)

_FIELD = re.compile(r"\s{0,8}(filename|version|license|vermagic):\s{1,20}(\S.{0,200})$")
_FILE = re.compile(r"/lib/modules/[\w.+~-]{1,80}/(.{0,120}/)?(nvidia|amdgpu)\.ko(?:\.\w{1,4})?$")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without the file of one of both modules."""
    sheet = FactSheet()
    module = ""
    for where, line in source_lines(text, source):
        if not (found := _FIELD.match(line[:300])):
            continue
        label, value = found[1], found[2].strip()
        if label == "filename":
            file = _FILE.search(value)
            module = file[2] if file else ""
            if file and module == "amdgpu":
                out_of_tree = re.match(r"(?:updates|extra|weak-updates)/", file[1] or "")
                sheet.put("amdgpu_driver.source", "dkms" if out_of_tree else "in-tree", where)
        elif (
            module == "nvidia" and label == "version" and (number := re.match(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?$", value))
        ):
            sheet.put("nvidia_driver.module_on_disk", number[0], where)
        elif module == "nvidia" and label == "license" and value in ("NVIDIA", "Dual MIT/GPL"):
            sheet.put("nvidia_driver.flavour", "open" if "GPL" in value else "proprietary", where)
    if not len(sheet):
        raise ParserError("no module file of a GPU driver")
    return sheet
