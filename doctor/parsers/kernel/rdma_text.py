"""`ibv_devinfo`, `ibstat`, `ibstatus` and `rdma link -j` -> RDMA devices with the state of their first port.

>>> sheet = read("hca_id: mlx5_0\\n\\tfw_ver:\\t28.41.1000\\n\\t\\tport:\\t1\\n\\t\\t\\tstate:\\tPORT_DOWN (1)\\n"
...              "\\t\\t\\tlink_layer:\\tEthernet")
>>> sheet.get("rdma[mlx5_0].state"), sheet.get("rdma[mlx5_0].link_layer")
('DOWN', 'Ethernet')
>>> read("CA 'mlx5_1'\\n\\tPort 1:\\n\\t\\tState: Active\\n\\t\\tRate: 400").get("rdma[mlx5_1].rate")
'400 Gb/sec'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.json_text import JsonText, rows
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = ({"trust": 310, "words": ("hca_id:", "ca 'mlx", "ca '", "infiniband device '", '"physical_state"')},)

_DEVICE = re.compile(
    r"\s{0,8}(?:hca_id:\s{1,20}|CA '|Infiniband device ')([A-Za-z][\w.-]{1,60})"
    r"(?:'(?: port (?P<port>\d{1,3}) status)?)?:?\s*$"
)
_PORT = re.compile(r"\s{1,32}(?:port:\s{1,20}|Port )(\d{1,3}):?\s*$")
_FIELD = re.compile(r"\s{1,40}([A-Za-z_ ]{3,30}?):\s{1,40}(\S.{0,80})$")
_STATE = re.compile(r"(?:PORT_|\d: )?([A-Za-z]{2,12})\b")
_SHOWN = "rdma["
_LIMIT = 128


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a device."""
    sheet = FactSheet()
    if '"ifname"' in text and '"physical_state"' in text:
        _links(sheet, text, source)
    else:
        _tools(sheet, text, source)
    if not len(sheet):
        raise ParserError("no RDMA device in the text")
    return sheet


def _links(sheet: FactSheet, text: str, source: str) -> None:
    held = JsonText(text)
    for row in rows(held.value, _LIMIT):
        name, state, physical = (row.get(word) for word in ("ifname", "state", "physical_state"))
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.-]{1,60}", name):
            continue
        where = f"{source}:{held.line_of(f'{chr(34)}{name}{chr(34)}')}"
        if isinstance(state, str):
            sheet.put(f"rdma[{name}].state", kept(state, 20), where)
        if isinstance(physical, str):
            words = "".join(word.capitalize() for word in kept(physical, 20).split("_"))
            sheet.put(f"rdma[{name}].physical_state", "LinkUp" if words == "LinkUp" else words, where)


def _tools(sheet: FactSheet, text: str, source: str) -> None:
    device, port, seen = "", 0, 0
    for where, line in source_lines(text, source):
        if found := _DEVICE.match(line[:160]):
            device, port, seen = found[1], int(found["port"] or 0), seen + 1
        elif not device or seen > _LIMIT:
            continue
        elif found := _PORT.match(line[:160]):
            port = int(found[1])
        elif port < 2 and (found := _FIELD.match(line[:160])):
            _field(sheet, f"{_SHOWN}{device}]", found[1].lower().strip(), kept(found[2], 60), where)


def _field(sheet: FactSheet, at: str, label: str, value: str, where: str) -> None:
    if label in ("fw_ver", "firmware version"):
        sheet.put(f"{at}.firmware", value, where)
    elif label == "state" and (found := _STATE.match(value)):
        sheet.put(f"{at}.state", {"INITIALIZING": "INIT"}.get(found[1].upper(), found[1].upper()), where)
    elif label in ("physical state", "phys state", "phys_state"):
        sheet.put(f"{at}.physical_state", value.partition(":")[2].strip() or value, where)
    elif label in ("link_layer", "link layer"):
        sheet.put(f"{at}.link_layer", value, where)
    elif label == "rate":
        sheet.put(f"{at}.rate", f"{value} Gb/sec" if value.isdecimal() else value, where)
