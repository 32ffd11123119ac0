"""`kubectl describe node` and `kubectl describe pod` -> the node's system; a pod's image and the GPUs that it asks for.

>>> sheet = read("System Info:\\n  Kernel Version:  6.8.0-45-generic\\n  OS Image:  Ubuntu 22.04.5 LTS\\n"
...              "  Container Runtime Version:  containerd://1.7.22\\nAllocatable:\\n  nvidia.com/gpu:  8")
>>> sheet.get("kernel.release"), sheet.get("container.engine"), sheet.get("container.engine_version")
('6.8.0-45-generic', 'kubernetes', 'containerd 1.7.22')
>>> pod = "Containers:\\n  a:\\n    Container ID:\\n    Image:  x:1\\n    Limits:\\n      amd.com/gpu:  2"
>>> read(pod).get("container.run_args")
['-d', '--gpus=amd.com/gpu=2']
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.text.os_name import os_facts

PASTED = (
    {"trust": 290, "words": ("kubelet version:", "container id:", "node-selectors:", "qos class:", "system info:")},
)

_FIELD = re.compile(r"(\s{0,12})([A-Za-z][\w ./-]{1,60}):\s{1,60}(\S.{0,300})$")
_GPU = re.compile(r"(?:nvidia|amd)\.com/[\w.-]{1,40}$")
_ARCHES = {"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le"}
_MARKS = re.compile(r"^\s{0,8}(?:System Info:|Kubelet Version:|Container ID:|Node-Selectors:|QoS Class:)", re.MULTILINE)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where no field of kubectl's is in the text."""
    mark = _MARKS.search(text)
    if not mark:
        raise ParserError("no output of kubectl describe")
    sheet = FactSheet()
    sheet.put("container.engine", "kubernetes", f"{source}:{text.count(chr(10), 0, mark.start()) + 1}")
    section, args, first = "", ["-d"], ""
    for where, line in source_lines(text, source):
        head = re.match(r"\s{0,12}(System Info|Limits|Requests|Allocatable|Capacity|Containers):\s*$", line[:80])
        if head:
            section = head[1]
            first = first or (where if section == "Containers" else "")
        elif found := _FIELD.match(line[:400]):
            label, value = found[2], kept(found[3], 200)
            if section == "Limits" and _GPU.match(label) and re.fullmatch(r"[1-9][0-9]{0,3}", value):
                args.append(f"--gpus={label}={value}")
            else:
                _field(sheet, where, label, value)
    if first:
        sheet.put("container.run_args", args[:40], first)
    return sheet


def _field(sheet: FactSheet, where: str, label: str, value: str) -> None:
    if label == "Kernel Version" and re.match(r"\d\.\d", value):
        sheet.put("kernel.release", value, where)
    elif label == "OS Image":
        for name, fact in os_facts(value).items():
            sheet.put(name, fact, where)
    elif label == "Architecture" and value in _ARCHES:
        sheet.put("host.machine", _ARCHES[value], where)
    elif label == "Container Runtime Version":
        sheet.put("container.engine_version", value.replace("://", " "), where)
    elif label == "Image":
        sheet.put("container.image", value, where)
