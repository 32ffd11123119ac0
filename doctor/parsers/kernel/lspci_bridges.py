"""What `lspci -vvv` shows of devices other than GPUs: bridges above GPUs with their ACS, and narrow links of others.

A bridge that redirects above an NVSwitch or a disk does not affect GPUs: only those whose buses hold a GPU are read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.facts.sheet import FactSheet

_HEAD = re.compile(
    r"\s{0,8}(?P<address>(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (?=[A-Z0-9])(?P<kind>[^:]{3,60}):"
)
_BUSES = re.compile(r"\s+Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_ACS = re.compile(r"\s+ACSCtl:\s.{0,40}?ReqRedir([+-]) CmpltRedir([+-])")
_MOST = 4000


class _Bridge(NamedTuple):
    address: str
    where: str
    redirects: bool
    first: int
    last: int


class Bridges:
    """Fed with the lines of one lspci; `put` at its end."""

    def __init__(self) -> None:
        self.bridges: list[_Bridge] = []
        self.narrow: dict[str, str] = {}
        self._address, self._kind = "", ""
        self._buses: tuple[int, int] | None = None

    def take(self, where: str, line: str) -> None:
        if found := _HEAD.match(line):
            address = found["address"].lower()
            self._address = address if address.count(":") == 2 else f"0000:{address}"
            self._kind, self._buses = found["kind"], None
        elif not self._address:
            return
        elif found := _BUSES.match(line):
            self._buses = int(found[1], 16), int(found[2], 16)
        elif self._buses and (found := _ACS.match(line)) and len(self.bridges) < _MOST:
            self.bridges.append(_Bridge(self._address, where, "+" in (found[1], found[2]), *self._buses))
        elif "LnkSta:" in line and "(downgraded)" in line and len(self.narrow) < _MOST:
            self.narrow.setdefault(self._address, where)

    def put(self, sheet: FactSheet, gpus: set[str]) -> None:
        """`gpus` are PCI addresses."""
        for bridge in self.bridges:
            if any(self._above(bridge, gpu) for gpu in gpus):
                sheet.put(f"pci[{bridge.address}].acs_redirect", bridge.redirects, bridge.where)
        if not gpus:
            for address, where in self.narrow.items():
                sheet.put(f"pci[{address}].kind", "other", where)

    @staticmethod
    def _above(bridge: _Bridge, gpu: str) -> bool:
        domain, bus, _ = gpu.split(":", 2)
        return domain == bridge.address.split(":")[0] and bridge.first <= int(bus, 16) <= bridge.last
