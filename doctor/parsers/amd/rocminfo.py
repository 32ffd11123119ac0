"""Output of `rocminfo` -> GPUs as ROCr enumerates them, the driver's state and what refused /dev/kfd.

`BDFID` holds no PCI domain: on machines where two agents show the same one it is not used.

>>> sheet = read("Agent 2\\n  Name:                    gfx90a\\n  Device Type:             GPU")
>>> sheet.get("gpus[#0].arch"), sheet.get("gpus[#0].vendor")
('gfx90a', 'amd')
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 120,
        "words": (
            "rock module",
            "wsl environment detected.",
            "device type:",
            "hsa agents",
            "unable to open /dev/kfd",
            "name:                    gfx",
        ),
        "commands": ("rocminfo",),
    },
)

_AGENT = re.compile(r"\s{0,8}Agent (\d{1,4})\s*$")
_FIELD = re.compile(r"\s{2,6}([A-Z][\w ./()-]{1,30}?):\s{0,40}(.*?)\s*$")
_MODULE = re.compile(r"ROCk module (?:version (\S{1,60}) )?is (NOT )?loaded", re.IGNORECASE)
_POOL = re.compile(r"\s{4,8}(Segment|Size):\s{1,40}(.*?)\s*$")
_REFUSED = re.compile(r"Unable to open (/dev/\S{1,60}) read-write: (.{1,80}?)\.?\s*$")
_ERRNO = {"permission denied": "EACCES", "operation not permitted": "EPERM", "no such file or directory": "ENOENT"}
_AGENTS_LIMIT = 512
_WANTED = {
    "Name", "Uuid", "Marketing Name", "Vendor Name", "Device Type", "Node", "BDFID", "Compute Unit", "Num XCC",
    "Chip ID", "ASIC Revision", "Internal Node ID",
}  # fmt: skip


@dataclass
class _Agent:
    fields: dict[str, tuple[str, str]] = field(default_factory=dict)
    pool_kb: int = 0
    pool_at: str = ""
    in_global: bool = False


def read(text: str, source: str = "text") -> FactSheet:
    """A paste without any agent may still say how the module stands. Raises ParserError when it says nothing."""
    sheet = FactSheet()
    agents: list[_Agent] = []
    whole = True
    for where, line in source_lines(text, source):
        if (header := _AGENT.match(line)) and len(agents) < _AGENTS_LIMIT:
            # The first agent is a processor. Where one is left out of the paste, it may have been a GPU.
            whole = whole and int(header[1]) <= max(2, len(agents) + 2)
            agents.append(_Agent())
        elif agents and (found := _FIELD.match(line)) and found[1] in _WANTED:
            agents[-1].fields.setdefault(found[1], (found[2], where))
        elif agents and (found := _POOL.match(line)):
            _pool(agents[-1], found[1], found[2], where)
        elif "ROCk module" in line and (found := _MODULE.search(line)):
            _module(sheet, found, where)
        elif "WSL environment detected." in line:
            sheet.put("host.wsl", True, where)
        elif "Unable to open /dev/" in line and (found := _REFUSED.search(line)):
            _refused(sheet, found, where)
    if not agents:
        agents = _without_headers(text, source)
    gpus = [a for a in agents if _is_gpu(a)]
    if not len(sheet) and not any(a.fields for a in agents):
        raise ParserError("no agent and no word on the module in the text")
    addresses = Counter(_address(a) for a in gpus)
    for number, agent in enumerate(gpus):
        _gpu(sheet, agent, number, unique=addresses[_address(agent)] == 1, counted=whole)
    return sheet


def _without_headers(text: str, source: str) -> list[_Agent]:
    """Agents of a paste that was filtered: `rocminfo | grep -i gfx` and the like."""
    agents: list[_Agent] = []
    for where, line in source_lines(text, source):
        found = re.match(r"\s{0,8}(?:rocminfo: )?(Name|Marketing Name):\s{1,40}(.*?)\s*$", line)
        if not found or len(agents) >= _AGENTS_LIMIT:
            continue
        if found[1] == "Name" and re.match(r"gfx[0-9a-f]{3,4}$", found[2]):
            agents.append(_Agent({"Name": (found[2], where), "Device Type": ("GPU", where)}))
        elif found[1] == "Marketing Name" and agents and "Marketing Name" not in agents[-1].fields:
            agents[-1].fields["Marketing Name"] = (found[2], where)
    return agents


def _is_gpu(agent: _Agent) -> bool:
    kind, name = agent.fields.get("Device Type", ("", ""))[0], agent.fields.get("Name", ("", ""))[0]
    return kind == "GPU" or (not kind and bool(re.match(r"gfx\d", name)))


def _pool(agent: _Agent, word: str, value: str, where: str) -> None:
    if word == "Segment":
        agent.in_global = value.startswith("GLOBAL")
    elif agent.in_global and (size := re.match(r"(\d{1,15})\(", value)) and int(size[1]) > agent.pool_kb:
        agent.pool_kb, agent.pool_at = int(size[1]), where


def _module(sheet: FactSheet, found: re.Match[str], where: str) -> None:
    if found[2]:
        sheet.absent("amdgpu_driver.loaded", where, False)
        return
    sheet.put("amdgpu_driver.loaded", True, where)
    if found[1]:
        sheet.put("amdgpu_driver.version", found[1], where)
        sheet.put("amdgpu_driver.source", "dkms", where)


def _refused(sheet: FactSheet, found: re.Match[str], where: str) -> None:
    path, error = found[1], _ERRNO.get(found[2].lower())
    if path != "/dev/kfd" or error is None:
        return
    if error == "ENOENT":
        sheet.absent(f"nodes[{path}]", where)
        return
    sheet.put(f"nodes[{path}].kind", "kfd", where)
    sheet.put(f"nodes[{path}].openable", False, where)
    sheet.put(f"nodes[{path}].open_error", error, where)


def _address(agent: _Agent) -> str | None:
    value = agent.fields.get("BDFID", ("", ""))[0]
    if not value.isdecimal() or len(value) > 5 or not 0 < int(value) < 1 << 16:
        return None
    number = int(value)
    return f"0000:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"


def _gpu(sheet: FactSheet, agent: _Agent, number: int, *, unique: bool, counted: bool = True) -> None:
    at = f"gpus[#{number}]"
    name, where = agent.fields.get("Name", ("", ""))
    sheet.put(f"{at}.vendor", "amd", where or agent.fields["Device Type"][1])
    if counted:
        sheet.put(f"{at}.index.hip", number, where or agent.fields["Device Type"][1])
    if re.match(r"gfx[0-9a-f]{3,4}$", name):
        sheet.put(f"{at}.arch", name, where)
    marketing, where = agent.fields.get("Marketing Name", ("", ""))
    if marketing and marketing.lower() not in ("unknown", "n/a") and not marketing.startswith("gfx"):
        sheet.put(f"{at}.name", kept(marketing, 120), where)
    uuid, where = agent.fields.get("Uuid", ("", ""))
    if re.match(r"GPU-[0-9a-f]{8,32}$", uuid):
        sheet.put(f"{at}.uuid", uuid, where)
    if (address := _address(agent)) and unique:
        sheet.put(f"{at}.pci_address", address, agent.fields["BDFID"][1])
    chip, where = agent.fields.get("Chip ID", ("", ""))
    if found := re.match(r"\d{1,6}\(0x([0-9a-f]{4})\)", chip):
        sheet.put(f"{at}.pci_id", f"1002:{found[1]}", where)
    for label, fact in (("Node", "index.kfd"), ("Compute Unit", "compute_units"), ("Num XCC", "xcc_count")):
        value, where = agent.fields.get(label, ("", ""))
        if value.isdecimal() and len(value) < 10:
            sheet.put(f"{at}.{fact}", int(value), where)
    if agent.pool_kb:
        sheet.put(f"{at}.memory_bytes", agent.pool_kb * 1024, agent.pool_at)
