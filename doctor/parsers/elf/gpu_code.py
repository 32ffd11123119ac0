"""A shared object, executable, object file or static library -> the GPU code that it carries, object by object.

NVIDIA's from its fat binaries, AMD's from offload bundles and code objects. Headers only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf import archive, elf, fatbin, offload_bundle
from doctor.parsers.elf.blocks import Blocks, Held, Window
from doctor.parsers.elf.fatbin import order

_MOST_GROUPS = 64
_MOST_MEMBERS = 4000
_SHOWN = 3
_AMD_MACHINES = {
    0x02C: "gfx900", 0x02D: "gfx902", 0x02E: "gfx904", 0x02F: "gfx906", 0x030: "gfx908", 0x031: "gfx909",
    0x032: "gfx90c", 0x033: "gfx1010", 0x034: "gfx1011", 0x035: "gfx1012", 0x036: "gfx1030", 0x037: "gfx1031",
    0x038: "gfx1032", 0x039: "gfx1033", 0x03D: "gfx1035", 0x03E: "gfx1034", 0x03F: "gfx90a", 0x041: "gfx1100",
    0x042: "gfx1013", 0x043: "gfx1150", 0x044: "gfx1103", 0x045: "gfx1036", 0x046: "gfx1101", 0x047: "gfx1102",
    0x048: "gfx1200", 0x04A: "gfx1151", 0x04C: "gfx942", 0x04E: "gfx1201", 0x04F: "gfx950",
    0x051: "gfx9-generic", 0x052: "gfx10-1-generic", 0x053: "gfx10-3-generic", 0x054: "gfx11-generic",
    0x055: "gfx1152", 0x058: "gfx1153", 0x059: "gfx12-generic", 0x05F: "gfx9-4-generic",
}  # fmt: skip
"""EF_AMDGPU_MACH of e_flags (llvm.org AMDGPUUsage, table of processors, 2026-08)."""
_FEATURES = {0x200: "", 0x300: ":xnack+"}


class ObjectGroup(NamedTuple):
    """Objects that bring the same architectures: how many, and the names of the first ones."""

    archs: tuple[str, ...]
    number: int
    names: tuple[str, ...]


class GpuCode(NamedTuple):
    """`sass` are NVIDIA's compiled architectures (`sm_90a`), `ptx` its virtual ones (`compute_90`), `gfx` AMD's targets
    with their features. `objects` the largest group first."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    gfx: tuple[str, ...]
    objects: tuple[ObjectGroup, ...]
    compressed: tuple[str, ...]

    @property
    def common(self) -> tuple[str, ...]:
        """What every object was compiled for: what the whole library runs on."""
        held = [set(group.archs) for group in self.objects]
        return tuple(sorted(set.intersection(*held), key=order)) if held else ()


class _Found(NamedTuple):
    name: str
    archs: tuple[str, ...]
    compressed: tuple[str, ...]


def code(blocks: Blocks) -> GpuCode:
    """() for a file without GPU code. Raises ParserError for what is cut off, or neither ELF nor a static library."""
    start = blocks.at(0, 24)
    if start.startswith((archive.MAGIC, archive.THIN)):
        return _together(_of_archive(blocks))
    if start.startswith((offload_bundle.PACKED, offload_bundle.PLAIN)):
        return _together(_of_bundles(blocks, 0, blocks.size, "bundle"))
    return _together(_of_elf(blocks))


def _of_archive(blocks: Blocks) -> Iterator[_Found]:
    for number, member in enumerate(archive.members(blocks)):
        if number >= _MOST_MEMBERS:
            return
        if member.offset is None:
            continue
        inside = Window(blocks, member.offset, member.size)
        if inside.at(0, 4) != b"\x7fELF":
            continue
        try:
            for found in _of_elf(inside):
                yield found._replace(name=member.name)
        except ParserError:
            continue  # one damaged member hides no other


def _of_elf(blocks: Blocks) -> Iterator[_Found]:
    held = elf.head(blocks)
    if held.cut:
        raise ParserError("cut off: its table of sections lies beyond the end of the file")
    if held.machine == "amdgpu":
        target = amd_target(held.flags)
        if target:
            yield _Found("code object", (target,), ())
        return
    for section in held.sections:
        if section.kind == elf.SHT_NOBITS or not section.size:
            continue
        if section.name in fatbin.SECTIONS:
            yield from _of_fat_binaries(blocks, section)
        elif section.name in offload_bundle.SECTIONS:
            yield from _of_bundles(blocks, section.offset, section.size, section.name)


def _of_fat_binaries(blocks: Blocks, section: elf.Section) -> Iterator[_Found]:
    for number, found in enumerate(fatbin.fat_binaries(blocks, section.offset, section.size)):
        packed = tuple(sorted({c.compressed for c in found.codes if c.compressed}))
        yield _Found(found.name or f"{section.name}#{number}", found.archs, packed)


def _of_bundles(blocks: Blocks, offset: int, size: int, name: str) -> Iterator[_Found]:
    for number, found in enumerate(offload_bundle.bundles(blocks, offset, size)):
        packed = (f"{found.compressed} v{found.version}",) if found.compressed else ()
        yield _Found(f"{name}#{number}", found.targets, packed)


def amd_target(flags: int) -> str | None:
    """`gfx90a:xnack+` of a code object's e_flags; None for a processor that the table lacks."""
    name = _AMD_MACHINES.get(flags & 0xFF)
    return f"{name}{_FEATURES.get(flags & 0x300, '')}" if name else None


def _together(found: Iterator[_Found]) -> GpuCode:
    counts: Counter[tuple[str, ...]] = Counter()
    names: dict[tuple[str, ...], list[str]] = {}
    packed: set[str] = set()
    for each in found:
        counts[each.archs] += 1
        packed.update(each.compressed)
        shown = names.setdefault(each.archs, [])
        if len(shown) < _SHOWN:
            shown.append(each.name)
    archs = sorted({arch for group in counts for arch in group}, key=order)
    groups = [ObjectGroup(group, count, tuple(names[group])) for group, count in counts.most_common(_MOST_GROUPS)]
    return GpuCode(
        tuple(a for a in archs if a.startswith("sm_")),
        tuple(a for a in archs if a.startswith("compute_")),
        tuple(sorted(a for a in archs if a.startswith("gfx"))),
        tuple(g for g in groups if g.archs),
        tuple(sorted(packed)),
    )


def read(content: bytes) -> GpuCode:
    return code(Held(content))
