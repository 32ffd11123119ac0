"""Text of `nvidia-smi topo -m` -> how GPUs hang together: NVLinks between them and the NUMA node of each.

`NV12` is a bond of 12 NVLinks. What the matrix says of PCIe (PIX, PXB, PHB, NODE, SYS) is no fact of a GPU and is
not kept.
"""

from __future__ import annotations

import io
import re
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet

PASTED = ({"trust": 50, "words": ("cpu affinity",)},)

MOST_LINKS = 18
"""NVLinks of one GPU (H100 to B300)."""
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_HEAD = re.compile(r"^\s*GPU\d{1,3}(?:\s+\S+)*?\s+CPU Affinity")
_CELL = re.compile(r"^(?:X|NV\d{1,3}|PIX|PXB|PHB|NODE|SYS|SOC|PSB)$")


def read(text: str, source: str = "text") -> FactSheet:
    """ParserError where there is no head of a matrix."""
    sheet = FactSheet()
    columns: list[str] = []
    for number, raw in enumerate(io.StringIO(text, newline=None), 1):
        line = _CONTROL.sub("", raw[:4000].replace("\x1b[4m", "").replace("\t", "  ")).rstrip()
        if not columns and _HEAD.match(line):
            columns = line.partition("CPU Affinity")[0].split()[:512]
        elif columns and re.match(r"^\s*GPU\d{1,3}\s", line):
            _row(sheet, columns, line.split(), f"{source}:{number}")
    if not len(sheet):
        raise ParserError("not the matrix of nvidia-smi topo -m")
    return sheet


def _row(sheet: FactSheet, columns: list[str], words: list[str], at: str) -> None:
    mine, cells, rest = words[0], words[1 : len(columns) + 1], words[len(columns) + 1 :]
    if len(cells) < len(columns) or not all(_CELL.match(c) for c in cells):
        return
    key = f"#{int(mine[3:])}"
    sheet.put(f"gpus[{key}].vendor", "nvidia", at)
    sheet.put(f"gpus[{key}].index.smi", int(mine[3:]), at)
    bonds = [
        (int(cell[2:]), f"#{int(other[3:])}")
        for other, cell in zip(columns, cells, strict=False)
        if cell.startswith("NV") and re.fullmatch(r"GPU[0-9]{1,3}", other)
    ]
    if bonds:
        sheet.put(f"gpus[{key}].links", _links(bonds), at)
    if len(rest) >= 2 and re.match(r"^\d{1,4}$", rest[1]) and re.match(r"^[\d,-]+$", rest[0]):
        sheet.put(f"gpus[{key}].numa_node", int(rest[1]), at)


def _links(bonds: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """One entry a link. Behind an NVSwitch every peer shows all links of the GPU: then the peers are left out."""
    if sum(count for count, _ in bonds) > MOST_LINKS:
        return [{"kind": "nvlink", "index": n} for n in range(min(max(count for count, _ in bonds), 2 * MOST_LINKS))]
    peers = [peer for count, peer in bonds for _ in range(count)]
    return [{"kind": "nvlink", "index": n, "peer": peer} for n, peer in enumerate(peers)]
