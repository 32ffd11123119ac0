"""The questions that rules ask. Each reads only the tables that it needs; None: they can't decide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from doctor.knowledge.later import Later
from doctor.knowledge.range_tables import RangeTables
from doctor.knowledge.store import DATA, kept, table
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import entries
    from doctor.knowledge.entries import (
        AmdGpu,
        Companions,
        ComputeCapability,
        DriverBranch,
        Floor,
        NvidiaGpu,
        OpenModule,
        RocmRelease,
        SXid,
        Toolkit,
        TorchBuild,
        Xid,
    )
else:
    entries = Later("doctor.knowledge.entries")

__all__ = ["DATA", "Knowledge", "table"]
_ARCHITECTURES = ["kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "rubin"]


class Knowledge(RangeTables):
    """Cheap to make; tables are read on the first question about them and shared by all instances."""

    def amd_gpu(self, pci_id: str | None, revision: str | None = None) -> AmdGpu | None:
        """The product of a PCI id (`1002:744c`) and revision (`c8`). Where several products share the id and the
        revision does not decide, None: see `amd_gpus`."""
        found = self.amd_gpus(pci_id, revision)
        return found[0] if len(found) == 1 else None

    def amd_gpus(self, pci_id: str | None, revision: str | None = None) -> tuple[AmdGpu, ...]:
        """Every product that the PCI id and revision may be."""
        wanted, rev = (pci_id or "").lower(), (revision or "").lower().removeprefix("0x").zfill(2) if revision else None
        named: list[dict[str, Any]] = []
        open_: list[dict[str, Any]] = []
        for row in table("amd_gpus").values():
            for pci in row.get("pci", ()):
                if pci["id"] != wanted:
                    continue
                if rev in pci.get("revisions", ()):
                    named.append(row)
                elif not revision or not pci.get("revisions"):
                    open_.append(row)
        self._rests("amd_gpus", *(str(row["as_of"]) for row in named or open_))
        return tuple(entries.AmdGpu.model_validate(row) for row in named or open_)

    def amd_arch(self, pci_id: str | None) -> str | None:
        """`gfx942` of a PCI id, where all products that share the id agree."""
        archs = {gpu.gfx for gpu in self.amd_gpus(pci_id)}
        return archs.pop() if len(archs) == 1 else None

    def nvidia_gpu(self, pci_id: str | None) -> NvidiaGpu | None:
        row = self._row("nvidia_gpus", (pci_id or "").lower())
        return entries.NvidiaGpu.model_validate(row) if row else None

    def cuda_floor(self, cuda: str | None) -> Floor | None:
        """The lowest driver that serves programs built with this CUDA (`12.4`, `12.4.1`)."""
        version = Dotted(cuda or "")
        row = self._row("cuda_majors", str(version.major))
        if not row:
            return self._early_floor(version)
        major, toolkit = entries.CudaMajor.model_validate(row), self.toolkit(version)
        paired = Dotted(toolkit.driver) if toolkit and toolkit.driver else None
        return entries.Floor(driver=Dotted(major.driver), source=f"{major.source} ({major.as_of})", paired=paired)

    def _early_floor(self, cuda: Dotted) -> Floor | None:
        row = self._row("early_cuda", cuda.series())
        early = entries.EarlyCuda.model_validate(row) if row else None
        return entries.Floor(driver=Dotted(early.driver), source=f"{early.source} ({early.as_of})") if early else None

    def toolkit(self, cuda: str | None) -> Toolkit | None:
        """The toolkit release; of `12.4` the first one of that minor that has a driver paired."""
        rows, wanted = table("cuda_toolkits"), Dotted(cuda or "")
        if wanted in rows:
            return entries.Toolkit.model_validate(rows[wanted])
        first = _first_toolkits().get(wanted.series())
        return entries.Toolkit.model_validate(rows[first]) if first else None

    def driver_branch(self, driver: str | None) -> DriverBranch | None:
        """The branch of a driver version: `575` of 575.57.08."""
        row = self._row("driver_branches", str(Dotted(driver or "").major))
        return entries.DriverBranch.model_validate(row) if row else None

    def driver_serves_cuda(self, driver: str | None) -> str | None:
        """The newest CUDA that a driver serves by itself: `12.9` of 575.57.08."""
        branch = self.driver_branch(driver)
        return branch.cuda if branch else None

    def xid(self, code: int) -> Xid | None:
        row = self._row("xids", str(code))
        return entries.Xid.model_validate(row) if row else None

    def sxid(self, code: int) -> SXid | None:
        row = self._row("sxids", str(code))
        return entries.SXid.model_validate(row) if row else None

    def rocm_release(self, version: str | None) -> RocmRelease | None:
        row = self._row("rocm_releases", Dotted(version or "").series(3))
        return entries.RocmRelease.model_validate(row) if row else None

    def rocm_releases(self) -> tuple[RocmRelease, ...]:
        return _rocm_releases()

    def rocm_supports(self, rocm: str | None, gfx: str | None) -> bool | None:
        """Whether AMD lists the target in that release's support matrix. `6.4` asks all of 6.4.x and is None where
        they differ; a release whose matrix is unknown answers as its two neighbours of the series do, if both agree."""
        version, target = Dotted(rocm or ""), _bare(gfx)
        if not version.numbers or not target:
            return None
        rows = [r for r in self.rocm_releases() if r.gfx_targets is not None]
        series = [r for r in rows if Dotted(r.version).series() == version.series()]
        exact = [r for r in series if Dotted(r.version).compare(version) == 0]
        if len(version.numbers) >= 3 and not exact and self._row("rocm_releases", version.series(3)):
            before = [r for r in rows if version > r.version][-1:]
            after = [r for r in rows if version < r.version and Dotted(r.version).major == version.major][:1]
            exact = before + after if before and after else []
        asked = exact if len(version.numbers) >= 3 else series
        self._rests("rocm_releases", *(r.as_of for r in asked))
        answers = {target in (r.gfx_targets or ()) for r in asked}
        return answers.pop() if len(answers) == 1 else None

    def rocm_range(self, gfx: str | None) -> tuple[str, str] | None:
        """First and last release known to list a target."""
        target = _bare(gfx)
        listed = [r.version for r in self.rocm_releases() if target in (r.gfx_targets or ())]
        return (listed[0], listed[-1]) if listed else None

    def torch_build(self, version: str | None) -> TorchBuild | None:
        """The official release of a version; its local part (`+cu128`) is left out of account."""
        found = _torch_build((version or "").partition("+")[0])
        self._rests("torch_builds", *([found.as_of] if found else []))
        return found

    def torch_archs(
        self, version: str | None, build: str | None = None, machine: str = "x86_64"
    ) -> tuple[str, ...] | None:
        """Architectures in the official wheel: `torch_archs("2.7.0", "12.8")` or `("2.7.0+cu128")`; ROCm as
        `rocm6.3`. Without a build: of the local version, else of the plain wheel on PyPI."""
        entry = self.torch_build(version)
        if entry is None:
            return None
        local = (version or "").partition("+")[2]
        tag = _build_tag(build or local or entry.default_cuda or "")
        held = entry.archs.get(tag, {})
        return held.get(machine) or held.get("any")

    def companions(self, torch: str | None) -> Companions | None:
        """What belongs to a torch release (`2.7.0`; its local part is left out of account)."""
        wanted = (torch or "").partition("+")[0]
        return next((row for row in _companions() if row.torch == wanted), None)

    def is_companion(self, package: str, version: str) -> bool:
        """Whether any torch release is known to go with that release of torchvision or torchaudio."""
        return any(version in row.made_for(package) for row in _companions())

    def torch_releases(self) -> tuple[TorchBuild, ...]:
        names = sorted(table("torch_builds"), key=lambda v: Dotted(v).numbers)
        return tuple(filter(None, map(_torch_build, names)))

    def compute_capability(self, cc: str | None) -> ComputeCapability | None:
        """By `9.0` or `sm_90`."""
        number = re.fullmatch(r"sm_?(\d+)(\d)[a-z]?", cc or "")
        row = self._row("compute_capabilities", f"{number[1]}.{number[2]}" if number else cc or "")
        return entries.ComputeCapability.model_validate(row) if row else None

    def open_module(self, gpu: str | None) -> OpenModule | None:
        """Which flavour of NVIDIA's kernel module a GPU takes: by PCI id (`10de:2330`), `sm_90` or architecture
        (`Hopper`). sm_90 alone does not tell Hopper from Grace Hopper, and both take the open one: `either`."""
        asked = (gpu or "").strip()
        if ":" in asked:
            known = self.nvidia_gpu(asked)
            return known.open_module if known else None
        capability = self.compute_capability(asked)
        if capability:
            return capability.open_module
        word = asked.lower().removesuffix(" lovelace")
        if word == "grace hopper":
            return "required"
        if word not in _ARCHITECTURES:
            return None
        return "unsupported" if word in _ARCHITECTURES[:4] else "either" if word in _ARCHITECTURES[4:8] else "required"


@kept
def _first_toolkits() -> dict[str, str]:
    """CUDA minor → its first toolkit that has a driver paired."""
    paired = sorted((v for v, r in table("cuda_toolkits").items() if r.get("driver")), key=lambda v: Dotted(v).numbers)
    return {Dotted(version).series(): version for version in reversed(paired)}


@kept
def _rocm_releases() -> tuple[RocmRelease, ...]:
    rows = sorted(table("rocm_releases").values(), key=lambda r: Dotted(r["version"]).numbers)
    return tuple(entries.RocmRelease.model_validate(row) for row in rows)


@kept
def _torch_build(version: str) -> TorchBuild | None:
    row = table("torch_builds").get(version)
    return entries.TorchBuild.model_validate(row) if row else None


@kept
def _companions() -> tuple[Companions, ...]:
    return tuple(entries.Companions.model_validate(row) for row in table("companions").values())


def _bare(gfx: str | None) -> str:
    """`gfx942` of `gfx942:sramecc+:xnack-`."""
    return (gfx or "").partition(":")[0].strip().lower()


def _build_tag(build: str) -> str:
    """`cu128` of `12.8`, `12.8.1` and `cu128`; `rocm6.3` stays."""
    numbers = Dotted(build).series().split(".") if build[:1].isdigit() else []
    return f"cu{numbers[0]}{numbers[1]}" if len(numbers) == 2 else build
