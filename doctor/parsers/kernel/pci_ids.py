"""Small PCI texts of sysfs -> typed values: addresses, identities, links, BARs, and which device is a GPU.

>>> kind("0x030200", "10de", "2330"), kind("0x068000", "10de", "22a3"), kind("0x030000", "1a03", "2000")
('gpu', 'nvswitch', 'other')
>>> address("0000:C1:00.0"), speed("16.0 GT/s PCIe"), width("255")
('0000:c1:00.0', 16.0, None)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.errors import ParserError

_ADDRESS = re.compile(r"^([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$")

VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
"""Vendors whose display controllers are GPUs that a compute stack may use."""

DISPLAY_ONLY_VENDORS = frozenset(
    [
        "1a03",
        "102b",
        "1234",
        "1af4",
        "15ad",
        "1013",
        "1b36",
        "80ee",
        "1414",
        "18ca",
        "1039",
        "19e5",
        "1d0f",
        "5333",
        "1023",
        "1ab8",
    ]
)
"""Management controllers (ASPEED, Matrox, XGI, Huawei …) and virtual screens (QEMU, VMware, Hyper-V, EC2 …)."""

DISPLAY_ONLY_IDS = frozenset({"1002:515e", "1002:5969", "1002:4752", "1002:4758"})
"""ATI ES1000 and Rage XL: the screen of old servers' management controllers, under AMD's vendor id."""

HYPER_V = "1414"


class Uevent(NamedTuple):
    """What a PCI device's uevent names; None where a line is missing."""

    driver: str | None
    pci_class: str | None
    """`0x030000`"""
    pci_id: str | None
    subsystem_id: str | None
    address: str | None


def clean(text: str, limit: int = 120) -> str:
    """One short line without control characters (bidirectional marks included) and padding."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())[:limit]


def address(text: str) -> str | None:
    """A PCI address in the form of sysfs (`0000:c1:00.0`), or None where the text is none. A domain of eight digits, as
    nvidia-smi prints it, becomes four."""
    match = _ADDRESS.match(text.strip())
    if not match:
        return None
    return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}".lower()


def hex_id(text: str) -> str:
    """`0x10DE` -> `10de`. Raises ParserError on anything else."""
    match = re.match(r"^(?:0x)?([0-9a-fA-F]{4})$", text.strip())
    if not match:
        raise ParserError(f"not a PCI id: {clean(text, 20)!r}")
    return match[1].lower()


def class_code(text: str) -> str:
    """`0x030000`, also of uevent's `30000`. Raises ParserError."""
    match = re.match(r"^(?:0x)?([0-9a-fA-F]{5,6})$", text.strip())
    if not match:
        raise ParserError(f"not a PCI class: {clean(text, 20)!r}")
    return f"0x{match[1].lower():0>6}"


def revision(text: str) -> str:
    """`0xc8` -> `c8`. Raises ParserError."""
    match = re.match(r"^\s*(?:0x)?([0-9a-fA-F]{1,2})\s*$", text[:24])
    if not match:
        raise ParserError(f"not a PCI revision: {clean(text, 20)!r}")
    return f"{int(match[1], 16):02x}"


def number(text: str) -> int:
    """A plain decimal number. Raises ParserError."""
    try:
        return int(text.strip()[:24], 10)
    except ValueError:
        raise ParserError(f"not a number: {clean(text, 20)!r}") from None


def speed(text: str) -> float | None:
    """GT/s of `16.0 GT/s PCIe`; None for `Unknown speed`."""
    match = re.match(r"^\s*(\d{1,3}(?:\.\d{1,2})?)\s*GT/s", text)
    return float(match[1]) if match else None


def width(text: str) -> int | None:
    """Lanes. 0, 63 and 255 are what a device answers that has no link or does not answer: None."""
    lanes = number(text)
    return lanes if 0 < lanes <= 32 else None


def bars(text: str) -> list[int]:
    """Bytes of the six base address registers of a `resource` file, 0 where one is not used. Raises ParserError."""
    sizes = []
    for line in text.splitlines()[:6]:
        fields = line.split()
        try:
            start, end = int(fields[0], 16), int(fields[1], 16)
        except (IndexError, ValueError):
            raise ParserError("not a PCI resource table") from None
        sizes.append(end - start + 1 if end > start else 0)
    if not sizes:
        raise ParserError("an empty PCI resource table")
    return sizes


def uevent(text: str) -> Uevent:
    """The lines of a PCI device's uevent. Raises ParserError where there is no PCI line at all."""
    rows = dict(line.split("=", 1) for line in text.splitlines()[:64] if "=" in line)
    if not any(key.startswith("PCI_") for key in rows):
        raise ParserError("no PCI line in the uevent")
    code = rows.get("PCI_CLASS")
    return Uevent(
        driver=clean(rows["DRIVER"], 60) if rows.get("DRIVER") else None,
        pci_class=class_code(code) if code else None,
        pci_id=_pair(rows.get("PCI_ID")),
        subsystem_id=_pair(rows.get("PCI_SUBSYS_ID")),
        address=address(rows.get("PCI_SLOT_NAME", "")),
    )


def _pair(text: str | None) -> str | None:
    match = re.match(r"^([0-9A-Fa-f]{1,4}):([0-9A-Fa-f]{1,4})$", (text or "").strip())
    return f"{match[1]:0>4}:{match[2]:0>4}".lower() if match else None


def kind(pci_class: str, vendor: str, device: str) -> str | None:
    """`gpu`, `accelerator`, `nvswitch`, `other` (a screen that computes nothing), or None for all other devices."""
    family = pci_class[2:4]
    if vendor == "10de" and pci_class.startswith("0x0680"):
        return "nvswitch"
    if family == "12":
        return "gpu" if vendor in ("1002", "10de") else "accelerator"
    if family != "03":
        return None
    if vendor in DISPLAY_ONLY_VENDORS or f"{vendor}:{device}" in DISPLAY_ONLY_IDS:
        return "other"
    return "gpu"
