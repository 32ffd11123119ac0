"""Checks of variables that name architectures: overrides of ROCm's, lists to build for.

Each answers True, False, or None where the GPUs are not known.
"""

from __future__ import annotations

import re

from doctor.flags import lists
from doctor.flags.situation import Situation

Answer = bool | None
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def _overridden(s: Situation) -> list[tuple[tuple[int, ...], tuple[int, ...], str]]:
    """(asked, chip, arch) of each GPU that an override applies to: all, or the one of the node in its name."""
    gpus = [g for g in s.machine.of_vendor("amd") if g.arch]
    chosen = [g for g in gpus if not g.integrated] or gpus
    rows = []
    for name, text in s.env.items():
        node = name.removeprefix(f"{_OVERRIDE}_")
        if not name.startswith(_OVERRIDE) or lists.gfx_version(text).state != "taken":
            continue
        meant = [g for g in chosen if name == _OVERRIDE or str(g.index.kfd) == node]
        asked = tuple(map(int, text.split(".")))
        rows += [(asked, _gfx(arch), arch) for g in meant if (arch := str(g.arch).split(":")[0]) and _gfx(arch)]
    return rows


def _gfx(arch: str) -> tuple[int, ...]:
    """gfx90a is (9, 0, 10)."""
    body = arch.removeprefix("gfx")
    if not arch.startswith("gfx") or not re.fullmatch(r"\d{1,2}[0-9a-f]{2}", body):
        return ()
    return int(body[:-2]), int(body[-2], 16), int(body[-1], 16)


def cross_major(s: Situation) -> Answer:
    if not s.machine.of_vendor("amd"):
        return None if s.archs is None else False
    return any(asked[0] != chip[0] for asked, chip, _ in _overridden(s))


def native(s: Situation) -> Answer:
    """The chip itself is among what torch is built for, or ROCm's matrix has it."""
    archs = {arch for asked, chip, arch in _overridden(s) if asked != chip}
    if not archs:
        return None if s.archs is None else False
    if archs & set(s.machine.torch.arch_list or ()):
        return True
    version = s.version("rocm")
    if version is None:
        return None
    from doctor.knowledge import Knowledge

    answers = [Knowledge().rocm_supports(version, arch) for arch in archs]
    return True if True in answers else None if None in answers else False


def several_gfx(s: Situation) -> Answer:
    archs = {str(g.arch).split(":")[0] for g in s.machine.gpus or () if g.arch and str(g.arch).startswith("gfx")}
    return len(archs) > 1 if archs else None


def rocm_arch_missing(s: Situation) -> Answer:
    mine = [a for a in s.archs or () if a.startswith("gfx")]
    listed = {p.split(":")[0] for p in re.split(r"[;, ]+", s.env.get("PYTORCH_ROCM_ARCH", ""))}
    return any(a not in listed for a in mine) if mine else None


_CUDA_ENTRY = re.compile(r"(\d{1,2})\.(\d)([af])?(\+PTX)?$")


def _cuda_entries(s: Situation) -> list[str]:
    return [e for e in re.split(r"[;, ]+", s.env.get("TORCH_CUDA_ARCH_LIST", "")) if e]


def cuda_arch_missing(s: Situation) -> Answer:
    """No binary of the GPU's major with a minor at or below its own, and no PTX at or below it."""
    mine = [(int(a[3:-1]), int(a[-1])) for a in s.archs or () if re.fullmatch(r"sm_\d{2,3}", a)]
    found = [m for e in _cuda_entries(s) if (m := _CUDA_ENTRY.match(e))]
    if not mine or len(found) < len(_cuda_entries(s)):
        return None
    return any(not any(_covers(entry, gpu) for entry in found) for gpu in mine)


def _covers(entry: re.Match[str], gpu: tuple[int, int]) -> bool:
    built = (int(entry[1]), int(entry[2]))
    if entry[3] == "a":
        return built == gpu
    return (built[0] == gpu[0] and built <= gpu) or (entry[4] is not None and built <= gpu)
