"""Releases with a known fault: rows of conditions, and which of them hold on a machine.

Data: `data/faults/*.toml`. A row holds only where every condition of it is known and met.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from doctor.facts.gpu import Gpu
from doctor.facts.snapshot import Snapshot
from doctor.versions import Dotted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).parent / "data" / "faults"


class Fault(BaseModel):
    """One known fault. Ranges are [from, to]; `driver` and `nvidia` include their end, `kernel` does not."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str
    rule: str
    sure: Literal["certain", "likely", "possible"]
    what: str
    driver: tuple[str, str] | None = None
    nvidia: tuple[str, str] | None = None
    """Of NVIDIA's driver; `driver` and `module` are of amdgpu."""
    module: tuple[str, ...] = ()
    kernel: tuple[str, str] | None = None
    fixed_kernel: tuple[str, str] | None = None
    """Builds of `kernel` that a distribution has fixed: `6.14.0-1018` to `6.15`."""
    gfx: tuple[str, ...] = ()
    name: str | None = None
    firmware: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    unseen: bool = False
    """Only where an error text says that no GPU is found and no driver of a package is seen, which knows more GPUs."""
    guest: bool = False
    """Only in a virtual machine: not where the machine is known to be none."""
    build: bool = False
    """Of a module that does not build: not where it is known to be loaded, so that it was built. NVIDIA's is in most
    texts that name a kernel, so that a text must tell as well that it is not there."""
    felt: tuple[str, ...] = ()
    """Symptoms by which one that is only possible is likely, beside those of every GPU that faults or hangs."""
    fix: str
    source: str
    as_of: str

    def facts(self, machine: Snapshot) -> tuple[str, ...] | None:
        """Names of the facts that meet its conditions; None where one is not known or not met."""
        gpu = next((g for g in machine.of_vendor("amd") if self._is(g)), None)
        if self.unseen and not _unseen(machine):
            return None
        if self.guest and machine.host.virtual_machine is False:
            return None
        if self.build and (machine.nvidia_driver.loaded if self.nvidia else machine.amdgpu_driver.loaded):
            return None
        if self.nvidia and not (_nvidia_absent(machine) and _nvidia_is(machine, self.nvidia)):
            return None
        if gpu is None and (self.gfx or self.name or self.firmware):
            return None
        names = [f"gpus[{gpu.key}].{'firmware' if self.firmware else 'arch' if self.gfx else 'name'}"] if gpu else []
        if self.driver or self.module:
            if not self._drives(machine):
                return None
            names += [f"amdgpu_driver.{n}" for n in ("release", "version")]
        if self.nvidia:
            names += ["nvidia_driver.version", "nvidia_driver.module_on_disk", "kernel.dkms"]
        if self.kernel:
            if not _within(machine.kernel.release, self.kernel):
                return None
            if self.fixed_kernel and _build_within(machine.kernel.release, self.fixed_kernel):
                return None
            names.append("kernel.release")
        return tuple(names)

    def _is(self, gpu: Gpu) -> bool:
        named = not self.name or self.name.lower() in (gpu.name or "").lower()
        runs = {part.lower(): _plain(version) for part, version in (gpu.firmware or {}).items()}
        held = all(runs.get(part, "") in [_plain(version) for version in bad] for part, bad in self.firmware.items())
        return named and held and (not self.gfx or gpu.arch in self.gfx)

    def _drives(self, machine: Snapshot) -> bool:
        driver = machine.amdgpu_driver
        if driver.source == "in-tree":
            return False
        if driver.release and self.driver:
            return Dotted(self.driver[0]) <= driver.release and Dotted(driver.release) <= self.driver[1]
        return bool(driver.version) and any((driver.version or "").startswith(m) for m in self.module)


_UNSEEN = ("hip-no-device", "hip-no-device-code", "rocm-module-not-loaded")
_BACKPORTED = re.compile(r"[.\d-]\.?el\d|\bsles|-default$|\bamzn|\bfc\d")
"""Kernels of which the number does not say what amdgpu knows: distributions that take newer drivers into old ones."""


def _unseen(machine: Snapshot) -> bool:
    driver, release = machine.amdgpu_driver, machine.kernel.release or ""
    packaged = driver.source == "dkms" or driver.version or driver.release
    works = machine.torch.available or machine.host.wsl or machine.container.inside
    return not packaged and not works and not _BACKPORTED.search(release) and machine.symptom(*_UNSEEN) is not None


_NOT_THERE = (
    "nvidia-smi-cannot-communicate",
    "nvidia-module-build-failed",
    "nvidia-gpl-symbol",
    "nvidia-dkms-module-failed",
)
"""Texts of a driver that cannot be reached, or whose module failed to build."""


def _nvidia_is(machine: Snapshot, ends: tuple[str, str]) -> bool:
    """Whether a release of NVIDIA's driver that is here, and not built for this kernel by DKMS, is in range."""
    driver, running = machine.nvidia_driver, machine.kernel.release
    sources = [m for m in machine.kernel.dkms or () if m.key.startswith("nvidia/") and running not in m.built_for]
    named = (driver.version, driver.module_on_disk, driver.user_version, *(m.key.partition("/")[2] for m in sources))
    return any(v and Dotted(ends[0]) <= v and Dotted(v) <= ends[1] for v in named)


def _nvidia_absent(machine: Snapshot) -> bool:
    if machine.host.wsl or machine.container.inside:
        return False
    return machine.nvidia_driver.loaded is False or machine.symptom(*_NOT_THERE) is not None


def _plain(version: str) -> str:
    """`0x83` of `0x00000083`: debugfs writes zeros that sysfs leaves out."""
    return f"0x{int(version, 16):x}" if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", version) else version


def _within(release: str | None, ends: tuple[str, str]) -> bool:
    if not release or not Dotted(release).numbers:
        return False
    return (not ends[0] or Dotted(release) >= ends[0]) and (not ends[1] or Dotted(release) < ends[1])


def _build_within(release: str | None, ends: tuple[str, str]) -> bool:
    """Whether it is a build of a distribution (`6.14.0-1018-oem`) from the first on, before the second."""
    build = _BUILD.match(release or "")
    first = _BUILD.match(ends[0])
    if not build or not first:
        return False
    numbers = tuple(map(int, build.groups()))
    return numbers >= tuple(map(int, first.groups())) and Dotted(release or "") < ends[1]


_BUILD = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})-(\d{1,5})")


@cache
def faults() -> tuple[Fault, ...]:
    return tuple(Fault.model_validate(row) for row in rows_in(DATA))


def rows_in(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.toml")) for row in tomllib.loads(path.read_text("utf-8"))["fault"]]
