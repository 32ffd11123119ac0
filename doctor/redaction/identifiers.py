"""Stand-ins for hexadecimal identifiers (GPU UUIDs, unique ids) that keep shape, length, letter case and prefixes.

Each digit is permuted by a key and by the digits before it, so two ids share a prefix exactly when their stand-ins do:
`CUDA_VISIBLE_DEVICES=GPU-8f2a` still names the same GPU.

>>> a, b = hex_stand_in("8f2a-01", b"k"), hex_stand_in("8f2a", b"k")
>>> a.startswith(b), a[4], a != "8f2a-01"
(True, '-', True)
"""

from __future__ import annotations

import hashlib
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
