"""The kinds of entry of the catalogue. Each says where it comes from (`source`) and as of when (`as_of`).

The tables under data/ are edited there; a field that no source gave is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from doctor.versions import Dotted

OpenModule = Literal["required", "unsupported", "either"]


class Entry(BaseModel):
    """Base of all entries: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: str
    as_of: str


class AmdPciId(Entry):
    """One PCI id of an AMD GPU. Without `revisions` every revision is meant."""

    id: str
    """`1002:74a1`"""
    revisions: tuple[str, ...] = ()
    """Lower-case hex, as the kernel prints it without 0x: `c8`."""
    virtual_function: bool = False


class AmdGpu(Entry):
    id: str
    names: tuple[str, ...]
    gfx: str
    architecture: str
    gpu_class: str
    """`instinct`, `radeon`, `radeon-pro`, `apu` …"""
    pci: tuple[AmdPciId, ...] = ()
    memory_gib: float | None = None
    """As marketed, for the whole card where it has several dies."""
    gcds: int | None = None
    compute_units: int | None = None
    wavefront: int | None = None
    bandwidth_gbs: float | None = None
    rocm_first: str | None = None
    rocm_last: str | None = None
    rocm_first_preview: str | None = None
    rocm_support_scope: str | None = None
    rocm_support_note: str | None = None
    codename: str | None = None
    marketing_cpus: tuple[str, ...] = ()
    memory_type: str | None = None
    unified_memory: bool | None = None
    peak_tflops: dict[str, float | str] = {}
    measured_bf16_mamf: dict[str, float | str] = {}
    """bf16 TFLOP/s that a public benchmark reached, with the shape and software it was reached with."""
    peak_engine_clock_mhz: int | None = None
    lds_kib: int | None = None
    l2_mib: float | None = None
    l3_mib: float | None = None
    xgmi_links: int | None = None
    xgmi_links_note: str | None = None
    xgmi_link_gbs_per_direction: float | None = None
    tbp_watts: int | None = None
    tbp_note: str | None = None
    status: str | None = None
    note: str | None = None
    field_sources: tuple[dict[str, Any], ...] = ()
    """Sources of single fields, where they are not the entry's."""


class GfxTarget(Entry):
    """`gfx_target_version` of the KFD topology, and the name that compilers use."""

    number: int
    gfx: str
    hsa_override_form: str | None = None
    """As HSA_OVERRIDE_GFX_VERSION is written: `9.4.2`."""


class SupportedOs(BaseModel):
    """A system of a ROCm release's support matrix, with the kernels that it names."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    os: str
    version: str
    kernels: tuple[str, ...] = ()


class RocmRelease(Entry):
    """A ROCm release. `gfx_targets` None: its support matrix is not known."""

    version: str
    stream: str
    date: str | None = None
    gfx_targets: tuple[str, ...] | None = None
    build_targets: tuple[str, ...] | None = None
    """What the release's build system can build: more than what it supports."""
    kmd_versions: tuple[str, ...] | None = None
    """Kernel drivers of the release's support matrix."""
    supported_os: tuple[SupportedOs, ...] | None = None
    """None: its support matrix is not known."""
    os_exceptions: tuple[str, ...] = ()
    os_changes: tuple[str, ...] = ()
    components: dict[str, Any] = {}
    """Library → version."""
    frameworks: dict[str, Any] = {}
    firmware: dict[str, Any] = {}
    pytorch_built: tuple[str, ...] = ()
    gpu_added: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    install_root: str | None = None
    extras_root: str | None = None
    release_date_source: str | None = None
    note: str | None = None


class NvidiaGpu(Entry):
    """One PCI id of an NVIDIA GPU."""

    id: str
    """`10de:2330`"""
    name: str | None = None
    chip: str
    architecture: str
    compute_capability: str
    gpu_class: str | None = None
    memory_gb: float | None = None
    open_module: OpenModule | None = None
    listed_from: str | None = None
    """The first driver whose open modules list the id."""

    @property
    def arch(self) -> str:
        """`sm_90`"""
        return "sm_" + self.compute_capability.replace(".", "")


class ComputeCapability(Entry):
    cc: str
    architecture: str
    open_module: OpenModule | None = None
    last_driver_branch: str | None = None
    first_cuda: str | None = None
    last_cuda: str | None = None
    chips: tuple[str, ...] = ()
    note: str | None = None


class CudaMajor(Entry):
    """The lowest driver that serves any toolkit of a CUDA major (minor-version compatibility)."""

    major: int
    driver: str
    documented_range: str | None = None
    note: str | None = None


class EarlyCuda(Entry):
    """The lowest driver that serves one CUDA before 11, where a minor release did not serve another's programs."""

    minor: str
    driver: str


class Toolkit(Entry):
    """A CUDA toolkit release and the driver that NVIDIA pairs with it."""

    version: str
    driver: str | None = None
    runfile_driver: str | None = None
    released: str | None = None
    runtime_wheel_built: str | None = None
    """Newest file date in the runtime's wheel: no earlier than this was it released."""
    components: dict[str, str] = {}


class DriverBranch(Entry):
    """An NVIDIA driver branch. `cuda` is the newest CUDA that it serves by itself."""

    branch: str
    kind: str | None = None
    """`lts`, `production`, `new-feature`"""
    cuda: str | None = None
    latest: str | None = None
    open_module: bool
    open_module_default: bool | None = None
    eol: str | None = None
    """The vendor's word where it gives one, else what a rule computed."""
    eol_nvidia: str | None = None
    eol_computed: str | None = None
    architectures_dropped: tuple[str, ...] = ()
    first_datacenter_release: str | None = None
    latest_date: str | None = None
    versions: tuple[str, ...] = ()
    first_open_tag: str | None = None
    fabric_manager_rule: str | None = None
    note: str | None = None


class Xid(Entry):
    """A code of NVIDIA's Xid catalogue."""

    code: int
    mnemonic: str
    meaning: str
    kind: str
    """`app`, `driver`, `hardware`, `link`, `firmware`, `config`, `info`"""
    action: str | None = None
    """The catalogue's immediate action: `RESET_GPU`, `RESTART_APP` …"""
    advice: str | None = None
    """The action in words."""
    severity: Literal["error", "warning", "info"] | None = None
    """Derived from the vendor's action."""
    gpud_severity: str | None = None
    """What the monitor gpud says: stricter than the vendor."""
    gpud_actions: tuple[str, ...] = ()
    investigate: str | None = None
    likely: tuple[str, ...] = ()
    note: str | None = None


class SXid(Entry):
    code: int
    name: str
    fatal: Literal["always", "potentially", "no"]


class TorchBuild(Entry):
    """The official wheels of one torch release. Architectures by build (`cu128`, `rocm6.3`) and machine."""

    version: str
    default_cuda: str | None = None
    """CUDA of the plain wheel on PyPI for x86_64."""
    min_driver: str | None = None
    cuda_variants: tuple[str, ...] = ()
    rocm_variants: tuple[str, ...] = ()
    archs: dict[str, dict[str, tuple[str, ...]]] = {}
    """Build → machine (`x86_64`, `aarch64`) → architectures in the wheel."""
    pins: dict[str, str] = {}
    default_cuda_aarch64: str | None = None
    """None: the plain wheel for aarch64 is CPU-only."""
    requires_python: str | None = None
    pythons: tuple[str, ...] = ()
    """Tags of the plain wheels for Linux x86_64: `cp312`."""
    platforms: tuple[str, ...] = ()
    variant_pythons: dict[str, tuple[str, ...]] = {}
    """Build → Pythons, where somebody listed them; may lack the newest."""
    triton: str | None = None


class Companions(Entry):
    """The torchvision and torchaudio releases that are made for one torch release, the best first. None: not known."""

    torch: str
    torchvision: tuple[str, ...] | None = None
    torchvision_from: str | None = None
    """This release and later ones also serve: they pin no torch."""
    torchaudio: tuple[str, ...] | None = None

    def made_for(self, package: str) -> tuple[str, ...]:
        """Releases of a package that belong to this torch; () for one that the table does not mention."""
        return {"torchvision": self.torchvision, "torchaudio": self.torchaudio}.get(package) or ()

    def serves_from(self, package: str) -> str | None:
        return self.torchvision_from if package == "torchvision" else None


class SourceValue(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    value: str
    source: str


class Conflict(Entry):
    """Where sources contradict each other: what each says, and what this catalogue goes by."""

    id: str
    about: str
    table: str | None = None
    """The table that holds what is kept."""
    entry: str | None = None
    """Its entry, where it is one."""
    says: tuple[SourceValue, ...]
    kept: str
    """What is gone by, and why; `none` where nothing is."""


@dataclass(frozen=True)
class Floor:
    """The lowest driver that serves a CUDA version."""

    driver: Dotted
    source: str
    paired: Dotted | None = None
    """The driver that NVIDIA pairs with that very toolkit, which PTX of it needs."""
