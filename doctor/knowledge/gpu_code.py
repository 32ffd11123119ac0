"""By which way a GPU runs code that was compiled for given architectures: its own, a lower one of its major, a generic
target, PTX that the driver compiles, or none.

The table of torch itself (code_to_device) says which cubins run where. An `a` architecture (sm_90a) runs on that one
alone, an `f` one on its family from there on, PTX of compute_XX on XX and everything newer (docs.nvidia.com/cuda,
CUDA C++ programming guide, "Compute capability" and "Family-specific features", 13.2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge.catalogue import Knowledge

Kind = Literal["own", "same-major", "generic", "ptx", "ptx-unserved", "none", "unknown"]
GENERIC = {
    "gfx9-generic": (900, 902, 904, 906, 909),
    "gfx9-4-generic": (940, 941, 942, 950),
    "gfx10-1-generic": (1010, 1011, 1012, 1013),
    "gfx10-3-generic": (1030, 1031, 1032, 1033, 1034, 1035, 1036),
    "gfx11-generic": (1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153),
    "gfx12-generic": (1200, 1201),
}
"""What LLVM's generic AMDGPU targets run on (llvm.org AMDGPUUsage, 2026-08)."""
_NAME = re.compile(r"^(?:(?P<kind>sm|compute)_?)?(?P<major>\d{1,2})\.?(?P<minor>\d)(?P<letter>[af]?)(?P<ptx>\+PTX)?$")
"""`sm_90a`, `compute_90`; as torch's build options write it: `9.0`, `9.0+PTX`."""
_DEVICE = re.compile(r"^sm_(\d{1,2})(\d)[af]?$")
_GFX = re.compile(r"^(?P<name>gfx[0-9a-f]{3,5}|gfx[0-9\-]{1,8}-generic)(?P<features>(?::[a-z]{4,8}[+\-]){0,3})$")


class Way(NamedTuple):
    """`code`: the architecture that serves. `ptx-unserved`: only PTX would, and the driver is too old to compile it."""

    kind: Kind
    code: str | None = None

    @property
    def runs(self) -> bool:
        return self.kind in ("own", "same-major", "generic", "ptx")


def way(
    kb: Knowledge,
    arch: str,
    built: Sequence[str],
    *,
    cuda: str | None = None,
    driver_cuda: str | None = None,
    xnack: bool | None = None,
) -> Way:
    """`built` as fat binaries and bundles name it. `cuda` is the toolkit that made the code, `driver_cuda` the newest
    CUDA that the driver serves: PTX of a newer toolkit is not compiled. Without either, PTX counts. `xnack`: whether
    the GPU runs with it; None: not known, and a target with either answer counts."""
    if arch.startswith("gfx"):
        return _amd(arch, built, xnack)
    device = _DEVICE.match(arch)
    if device is None:
        return Way("unknown")
    number = int(device[1]) * 10 + int(device[2])
    names = [match for name in built if (match := _NAME.match(name))]
    cubins = [m for m in names if m["kind"] != "compute" and _cubin_runs(kb, m, number, cuda)]
    if cubins:
        best = max(cubins, key=lambda m: _number(m))
        return Way("own" if _number(best) == number else "same-major", best[0])
    ptx = [m for m in names if (m["kind"] == "compute" or m["ptx"]) and _ptx_runs(m, number)]
    if not ptx:
        return Way("none")
    best = max(ptx, key=lambda m: _number(m))
    served = not (cuda and driver_cuda) or Dotted(driver_cuda) >= Dotted(cuda).series()
    return Way("ptx" if served else "ptx-unserved", best[0])


def _number(name: re.Match[str]) -> int:
    return int(name["major"]) * 10 + int(name["minor"])


def _cubin_runs(kb: Knowledge, name: re.Match[str], device: int, cuda: str | None) -> bool:
    number = _number(name)
    if name["letter"] == "a":
        return number == device
    if name["letter"] == "f":
        return number <= device and number // 10 == device // 10
    rule = kb.code_to_device(number)
    if rule is None:  # older than torch's table; CUDA's own rule
        return number <= device and number // 10 == device // 10
    if rule.device_sm_only:
        return device in rule.device_sm_only
    if not (rule.device_sm_from or 0) <= device <= (rule.device_sm_to or 0):
        return False
    freed = rule.no_exclude_from_cuda and cuda and Dotted(cuda) >= rule.no_exclude_from_cuda
    return device not in rule.exclude or bool(freed)


def _ptx_runs(name: re.Match[str], device: int) -> bool:
    number = _number(name)
    if name["letter"] == "a":
        return number == device
    if name["letter"] == "f":
        return number <= device and number // 10 == device // 10
    return number <= device


def _amd(arch: str, built: Sequence[str], xnack: bool | None) -> Way:
    mine = arch.partition(":")[0]
    number = int(mine[3:]) if mine[3:].isdigit() else -1
    if xnack is None and ":xnack" in arch:
        xnack = ":xnack+" in arch
    best = Way("none")
    for name in built:
        match = _GFX.match(name)
        if match is None or (xnack is not None and f":xnack{'-' if xnack else '+'}" in match["features"]):
            continue
        if match["name"] == mine:
            return Way("own", name)
        if number in GENERIC.get(match["name"], ()):
            best = Way("generic", name)
    return best
