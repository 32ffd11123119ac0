"""One GPU, as the driver enumerates it when unpartitioned (an MI250X GCD is one), and its numbers in every order."""

from typing import Literal

from doctor.facts.model import Model

Vendor = Literal["nvidia", "amd", "intel", "other"]


class GpuIndex(Model):
    """The GPU's number in each order. None: unknown; a GPU that a runtime does not list has no number there."""

    smi: int | None = None
    """nvidia-smi, amd-smi, rocm-smi: PCI order."""
    pci: int | None = None
    """Place among all GPUs of its vendor by PCI address."""
    kfd: int | None = None
    """Node number in the KFD topology (CPU nodes are counted too)."""
    hip: int | None = None
    """HIP's number before any visibility variable."""
    cuda: int | None = None
    """CUDA's number before any visibility variable, with the order that CUDA_DEVICE_ORDER asks for."""
    visible: int | None = None
    """The number that a program sees, after the visibility variables."""


class PciLink(Model):
    """A PCIe link. Speeds in GT/s, widths in lanes."""

    speed_gt_s: float | None = None
    width: int | None = None
    max_speed_gt_s: float | None = None
    max_width: int | None = None
    slot_width: int | None = None
    """Lanes that the port above can do; asked where the link has fewer than the GPU can."""


class Partition(Model):
    """A compute partition (CPX, DPX, TPX …) or a MIG instance."""

    key: str
    kind: Literal["compute", "mig"] | None = None
    name: str | None = None
    uuid: str | None = None
    kfd: int | None = None
    render_node: str | None = None
    memory_bytes: int | None = None


class MemoryErrors(Model):
    """Error counters: NVIDIA ECC and row remapping, AMD RAS. Counts since the driver loaded unless named lifetime."""

    ecc_enabled: bool | None = None
    corrected: int | None = None
    uncorrected: int | None = None
    uncorrected_lifetime: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    remapped_correctable: int | None = None
    remapped_uncorrectable: int | None = None
    retired_pending: bool | None = None
    bad_pages: int | None = None


class Sensors(Model):
    """Readings of one moment."""

    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    utilisation_percent: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """NVML clock event reasons that hold now, in NVML's names without the prefix (`SwPowerCap`, `HwSlowdown` …)."""


class XgmiLink(Model):
    """A link to another GPU: NVLink or xGMI."""

    kind: Literal["nvlink", "xgmi"]
    index: int
    up: bool | None = None
    peer: str | None = None


class Gpu(Model):
    """A GPU. `key` is its PCI address, or `#N` where only a tool's number is known."""

    key: str
    vendor: Vendor | None = None
    name: str | None = None
    arch: str | None = None
    """`gfx942`, `sm_90`."""
    pci_address: str | None = None
    """`0000:c1:00.0`"""
    pci_id: str | None = None
    """`1002:74a1`"""
    subsystem_id: str | None = None
    revision: str | None = None
    memory_bytes: int | None = None
    """Device memory, not GTT."""
    memory_used_bytes: int | None = None
    visible_memory_bytes: int | None = None
    """How much of it the CPU can reach through the BAR (amdgpu's mem_info_vis_vram_total)."""
    gtt_bytes: int | None = None
    """System memory that amdgpu lets the GPU map (mem_info_gtt_total)."""
    driver: str | None = None
    """The bound kernel module; `none` when no driver is bound."""
    runtime_status: str | None = None
    """`active`, `suspended` … of the device's power management."""
    index: GpuIndex = GpuIndex()
    render_node: str | None = None
    """`renderD128`"""
    card_node: str | None = None
    """`card0`"""
    device_node: str | None = None
    """`nvidia0`"""
    minor: int | None = None
    numa_node: int | None = None
    """-1 where the machine has no NUMA."""
    iommu_group: int | None = None
    uuid: str | None = None
    serial: str | None = None
    slot: str | None = None
    """The slot's name on the board, as the firmware calls it."""
    package: str | None = None
    """The card that several GPUs (GCDs) sit on."""
    integrated: bool | None = None
    virtual_function: bool | None = None
    virtual_functions: int | None = None
    """SR-IOV functions that are made from it now."""
    vgpu: bool | None = None
    """A share of a GPU that a hypervisor cut (NVIDIA vGPU): clocks, ECC and firmware are the host's."""
    link: PciLink = PciLink()
    bar_bytes: tuple[int, ...] | None = None
    atomics_requester: bool | None = None
    compute_partition: str | None = None
    """`SPX`, `DPX`, `TPX`, `QPX`, `CPX`"""
    memory_partition: str | None = None
    """`NPS1` …"""
    mig_mode: Literal["enabled", "disabled"] | None = None
    mig_pending: Literal["enabled", "disabled"] | None = None
    """The mode that a reset of the GPU sets."""
    compute_mode: str | None = None
    persistence_mode: bool | None = None
    fabric_state: str | None = None
    """NVML's fabric state: `not-supported`, `not-started`, `in-progress`, `completed`."""
    fabric_status: str | None = None
    lost: bool | None = None
    """The driver lists it and it no longer answers."""
    vbios: str | None = None
    firmware: dict[str, str] | None = None
    firmware_bundle: str | None = None
    """The bundle that AMD's matrices name, as amd-smi prints it (`PLDM_BUNDLE`): `01.26.00.04`."""
    performance_level: str | None = None
    """AMD's clock policy: `auto`, `low`, `high`, `manual`, `perf_determinism`, `profile_…`."""
    errors: MemoryErrors = MemoryErrors()
    sensors: Sensors = Sensors()
    links: tuple[XgmiLink, ...] | None = None
    partitions: tuple[Partition, ...] | None = None
    compute_units: int | None = None
    xcc_count: int | None = None
    processes: int | None = None
