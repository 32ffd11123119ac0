"""The line in which PaddlePaddle tells of the GPU that it starts on -> its architecture, and the driver's CUDA.

>>> line = "W gpu_resources.cc:119] Please NOTE: device: 0, GPU Compute Capability: 8.6, Driver API Version: 12.3"
>>> read(line).get("gpus[#0].arch")
'sm_86'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 720, "words": ("gpu compute capability: ",)},)

_LINE_LIMIT = 600
_NOTE = re.compile(
    r"Please NOTE: device: (\d{1,3}), GPU Compute Capability: (\d{1,2})\.(\d), Driver API Version: (\d{1,2}\.\d)\b"
)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without such a line."""
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if "GPU Compute Capability" in line and (found := _NOTE.search(line[:_LINE_LIMIT])):
            key = f"gpus[#{int(found[1])}]"
            sheet.put(f"{key}.vendor", "nvidia", where)
            sheet.put(f"{key}.arch", f"sm_{found[2]}{found[3]}", where)
            sheet.put("nvidia_driver.loaded", True, where)
            sheet.put("nvidia_driver.cuda_version", found[4], where)
    if not len(sheet):
        raise ParserError("no line of PaddlePaddle about its GPU")
    return sheet
