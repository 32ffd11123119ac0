"""What stands in a name's place. Hexadecimal ids (GPU UUIDs, unique ids) keep shape, length, letter case and prefixes.

Each digit is permuted by a key and by the digits before it, so two ids share a prefix exactly when their stand-ins do:
`CUDA_VISIBLE_DEVICES=GPU-8f2a` still names the same GPU.

>>> a, b = hex_stand_in("8f2a-01", b"k"), hex_stand_in("8f2a", b"k")
>>> a.startswith(b), a[4], a != "8f2a-01"
(True, '-', True)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache

from doctor.redaction.lazy import Lazy

UUID = Lazy(r"(?<![0-9a-fA-F-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9a-fA-F-])")
GPU_ID = Lazy(r"\b(MIG-GPU-|GPU-|MIG-)([0-9a-fA-F]{4}[0-9a-fA-F-]{0,36})(?![0-9A-Za-z])")
WELL_KNOWN = frozenset({
    "8be4df61-93ca-11d2-aa0d-00e098032b8c",  # EFI global variables: SecureBoot
    "d719b2cb-3d3a-4596-a3bc-dad00e67656f",  # EFI image security database
    "605dab50-e046-4300-abb6-3dd810dd8b23",  # shim: MokListRT
    "00000000-0000-0000-0000-000000000000",
})  # fmt: skip


@lru_cache(maxsize=4096)
def hex_stand_in(text: str, key: bytes) -> str:
    """The same text with each hexadecimal digit replaced."""
    if text.lower() in WELL_KNOWN or not text.strip("0-"):
        return text
    out, before = [], ""
    for sign in text:
        if sign not in "0123456789abcdefABCDEF":
            out.append(sign)
            continue
        order = hashlib.blake2b(before.encode(), key=key[:64], digest_size=16).digest()
        place = sorted(range(16), key=lambda n: (order[n], n)).index(int(sign, 16))
        out.append(f"{place:X}" if sign.isupper() else f"{place:x}")
        before += sign.lower()
    return "".join(out)


def number_stand_in(text: str, key: bytes) -> str:
    """A 64-bit id written in decimal, such as KFD's unique_id, by the stand-in of its 16 hexadecimal digits."""
    number = int(text)
    return text if not 0 < number < 1 << 64 else str(int(hex_stand_in(f"{number:016x}", key), 16))


MADE = Lazy(
    r"(?:user|host|mail|group|project|site)-(?:[0-9a-f]{4}){1,2}(?:@example\.invalid|\.site-(?:[0-9a-f]{4}){1,2})?|serial-[0-9a-f]{6,8}|02:00:00(?::[0-9a-f]{2}){3}"
    r"|198\.1[89]\.\d{1,3}\.\d{1,3}|2001:db8::[0-9a-f]{1,4}:[0-9a-f]{1,4}"
)
"""Stand-ins of ours: what is redacted already stays as it is."""
# Eight digits: with four, two of some hundred names would share one, and which gets the next depends on the report.
STAND_IN: dict[str, Callable[[int], str]] = {
    "user": lambda n: f"user-{n & 0xFFFFFFFF:08x}",
    "host": lambda n: f"host-{n & 0xFFFFFFFF:08x}",
    "group": lambda n: f"group-{n & 0xFFFFFFFF:08x}",
    "project": lambda n: f"project-{n & 0xFFFFFFFF:08x}",
    "site": lambda n: f"site-{n & 0xFFFFFFFF:08x}",
    "serial": lambda n: f"serial-{n & 0xFFFFFFFF:08x}",
    "mail": lambda n: f"mail-{n & 0xFFFFFFFF:08x}@example.invalid",
    "mac": lambda n: f"02:00:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}",
    "ipv4": lambda n: f"198.{18 + (n >> 16 & 1)}.{n >> 8 & 255}.{n & 255}",  # RFC 2544: never routed
    "ipv6": lambda n: f"2001:db8::{n >> 16 & 0xFFFF:x}:{n & 0xFFFF:x}",  # RFC 3849: for documents
}
