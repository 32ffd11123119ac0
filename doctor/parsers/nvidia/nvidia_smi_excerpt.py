"""A cut-out of `nvidia-smi -q` without the heading of a GPU (`grep -A8 'Clocks Throttle'`) -> facts of one GPU.

Headings that were cut off above are put back by the words below them.

>>> read("    Clocks Event Reasons\\n        HW Slowdown : Active").get("gpus[#0].sensors.throttle_reasons")
['HwSlowdown']
>>> read("Persistence Mode : Disabled").get("gpus[#0].persistence_mode")
False
"""

from __future__ import annotations

import io
import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.nvidia.nvidia_smi_fields import Field, put_gpu, spelling

PASTED = (
    {
        "trust": 630,
        "words": (
            "slowdown",
            "sw power cap",
            "persistence mode",
            "compute mode",
            "link width",
            "remapped rows",
            "_reasons.",
            "retired pages",
            "power limit",
            "mig mode",
            "mig devices",
        ),
    },
)

_FIELD = re.compile(r"(?P<indent>\s{0,40})(?P<name>[A-Za-z][\w .,()/-]{0,50}?)\s{0,60}:\s(?P<value>\S.{0,120}?)\s*$")
_HEADING = re.compile(r"(?P<indent>\s{0,40})(?P<name>[A-Za-z][\w .()/-]{2,50}?)\s*(?::\s*)?$")
_WHOLE = re.compile(r"^\s{0,4}GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\s*$", re.MULTILINE)
_ABOVE = {
    "linkwidth": "pci/gpulinkinfo",
    "pciegeneration": "pci/gpulinkinfo",
    "gpulinkinfo": "pci",
    "volatile": "eccerrors",
    "aggregate": "eccerrors",
}
_REASONS = ("hwslowdown", "hwthermalslowdown", "hwpowerbrakeslowdown", "swthermalslowdown", "swpowercap")
_ROOTS = frozenset(
    ("clockseventreasons", "clocksthrottlereasons", "pci", "eccerrors", "remappedrows", "retiredpages", "powerreadings",
     "gpupowerreadings", "migmode", "eccmode", "fabric", "fbmemoryusage")
)  # fmt: skip
_ALONE = ("persistencemode", "computemode")
_QUERIED = re.compile(
    r"clocks_(?:throttle|event)_reasons\.(hw_slowdown|hw_thermal_slowdown|hw_power_brake_slowdown|sw_thermal_slowdown)"
    r"['\"]?\s{0,3}[:=,]\s{0,3}(Active|Not Active)"
)
_NO_MIG = re.compile(r"MIG [Dd]evices {0,60}: {1,3}None\b")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a GPU's values, or where whole blocks of GPUs are in the text."""
    if _WHOLE.search(text):
        raise ParserError("whole blocks of nvidia-smi -q")
    fields = _fields(text)
    sheet = FactSheet()
    put_gpu(sheet, "#0", fields, source)
    if found := _NO_MIG.search(text):
        sheet.put("gpus[#0].partitions", [], f"{source}:{text.count(chr(10), 0, found.start()) + 1}")
    if not len(sheet):
        raise ParserError("no field of nvidia-smi -q")
    sheet.put("gpus[#0].vendor", "nvidia", source + ":1")
    return sheet


def _fields(text: str) -> dict[str, Field]:
    """Path of headings → field, the first of each."""
    fields: dict[str, Field] = {}
    stack: list[tuple[int, str]] = []
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if len(line) > 400:
            continue
        for found in _QUERIED.finditer(line):
            fields.setdefault(f"clockseventreasons/{spelling(found[1])}", Field(found[2], number))
        if field := _FIELD.match(line):
            indent, word = len(field["indent"].expandtabs()), spelling(field["name"])
            while stack and stack[-1][0] >= indent:
                stack.pop()
            if (path := _path([name for _, name in stack], word)) is not None:
                fields.setdefault(path, Field(field["value"], number))
            if word in _REASONS:
                stack.append((indent, word))
        elif heading := _HEADING.match(line):
            indent = len(heading["indent"].expandtabs())
            while stack and stack[-1][0] >= indent:
                stack.pop()
            stack = [*stack[-6:], (indent, spelling(heading["name"]))]
    return fields


def _path(above: list[str], word: str) -> str | None:
    """The whole path of a field; None where it is none of the tool's."""
    if word in _ALONE:
        return word
    if word in _REASONS:
        return f"clockseventreasons/{word}"
    for place, name in enumerate(above):
        if name in _ROOTS or name in _ABOVE:
            lead = [] if name in _ROOTS else [_ABOVE[name]]
            return "/".join([*lead, *above[place:], word])
    return None
