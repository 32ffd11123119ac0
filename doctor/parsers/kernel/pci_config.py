"""PCI configuration space -> whether peer-to-peer requests are redirected (ACS) and whether atomics may be sent.

A plain account is given the first 64 bytes only, where neither stands: that is `TooShort`, never "off".
"""

from __future__ import annotations

from doctor.errors import ParserError

_PCIE, _ACS = 0x10, 0x0D
_REQUEST_REDIRECT, _COMPLETION_REDIRECT = 0x04, 0x08
_ATOMIC_REQUESTER = 0x40


class TooShort(ParserError):
    """Only the part that every account may read is there."""


def acs_redirect(config: bytes) -> bool | None:
    """Whether ACS sends peer requests up to the root complex; None for a device without the ACS capability.

    Raises TooShort without the extended space (PCI Express Base Specification, 7.7.11).
    """
    if len(config) < 0x1000:
        raise TooShort("the extended configuration space is readable by root only")
    offset = 0x100
    for _ in range(96):
        header = int.from_bytes(config[offset : offset + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == _ACS:
            control = int.from_bytes(config[offset + 6 : offset + 8], "little")
            return bool(control & (_REQUEST_REDIRECT | _COMPLETION_REDIRECT))
        offset = header >> 20 & 0xFFC
        if offset < 0x100:
            return None
    return None


def atomics_requester(config: bytes) -> bool | None:
    """AtomicOp Requester Enable of Device Control 2; None for a device without the PCIe capability. Raises TooShort."""
    if len(config) < 0x100:
        raise TooShort("the configuration space beyond 64 bytes is readable by root only")
    if config[:2] == b"\xff\xff":
        raise ParserError("the device does not answer: its configuration space reads as all ones")
    offset = config[0x34] & 0xFC
    for _ in range(48):
        if offset < 0x40:
            return None
        if config[offset] == _PCIE:
            if offset + 0x2A > 0x100:
                return None
            return bool(int.from_bytes(config[offset + 0x28 : offset + 0x2A], "little") & _ATOMIC_REQUESTER)
        offset = config[offset + 1] & 0xFC
    return None
