"""Name of a kernel file of rocBLAS, hipBLASLt or MIOpen -> the gfx target that it is for.

>>> target("TensileLibrary_HH_Contraction_l_Ailk_Bljk_gfx942.co"), target("Kernels.so-000-gfx90a-xnack+.hsaco")
('gfx942', 'gfx90a:xnack+')
>>> target("TensileLibrary_lazy_gfx1100.dat"), target("gfx942130.HIP.fdb.txt"), target("TensileLibrary.dat") is None
('gfx1100', 'gfx942', True)
"""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(?:^|[_-])(?P<gfx>gfx(?:9(?:0[0-9a-c]|4[0-2]|50)|1[0-2]\d\d|803|11-generic|12-generic|9-4-generic))"
    r"(?P<xnack>-xnack[+-])?(?:[.\-_][A-Za-z0-9.\-+_]{0,100})?\.(?:dat|co|hsaco|dat\.gz|yaml)$"
)
_MIOPEN = re.compile(
    r"^(?P<gfx>gfx(?:9(?:0[0-9a-c]|4[0-2]|50)|1[0-2]\d\d))[0-9a-f_]{0,4}\.(?:HIP\.fdb\.txt|db|kdb|OpenCL\.fdb\.txt)$"
)


def target(name: str) -> str | None:
    """None for a file that names no target: it is for all, or none of these."""
    match = _NAME.search(name[:300]) or _MIOPEN.match(name[:300])
    if match is None:
        return None
    feature = match.groupdict().get("xnack")
    return f"{match['gfx']}:{feature[1:]}" if feature else match["gfx"]
