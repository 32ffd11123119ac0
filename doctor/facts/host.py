"""The machine around the GPUs: PCI devices, device nodes, system, account, container, kernel log."""

from typing import Literal

from doctor.facts.model import Model


class PciDevice(Model):
    """A display controller, accelerator, NVSwitch or RDMA-capable NIC. `key` is the PCI address."""

    key: str
    kind: Literal["gpu", "accelerator", "nvswitch", "nic", "audio", "other"] | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    pci_class: str | None = None
    driver: str | None = None
    name: str | None = None
    numa_node: int | None = None
    near_gpu: str | None = None
    """PCI address of the GPU that shares the closest bridge."""
    acs_redirect: bool | None = None


class RdmaDevice(Model):
    """A device of /sys/class/infiniband."""

    key: str
    pci_address: str | None = None
    state: str | None = None
    rate: str | None = None
    link_layer: str | None = None
    near_gpu: str | None = None
    physical_state: str | None = None
    """`LinkUp`, `Disabled`, `Polling` …"""
    firmware: str | None = None
    numa_node: int | None = None
    gids: int | None = None
    """Entries of the first port's GID table that are set; RoCE can't connect with none."""
    counters: dict[str, int] | None = None
    """Error counters of the first port that are not zero."""


class DeviceNode(Model):
    """A node under /dev that GPU work opens. `key` is its path (`/dev/kfd`)."""

    key: str
    kind: Literal[
        "kfd", "render", "card", "nvidia", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "dxg", "nvswitch", "other"
    ]
    is_device: bool | None = None
    """False: a plain file or folder stands where a node should be."""
    major: int | None = None
    minor: int | None = None
    mode: int | None = None
    """Permission bits, as a number."""
    uid: int | None = None
    gid: int | None = None
    group: str | None = None
    openable: bool | None = None
    """Whether this account can open it for reading and writing."""
    open_error: str | None = None
    """`EACCES`, `EPERM`, `ENXIO` … when it can't."""


class Os(Model):
    id: str | None = None
    version: str | None = None
    name: str | None = None
    id_like: str | None = None
    ubuntu_codename: str | None = None
    """`noble`: the Ubuntu that the system is, or is built on."""


class DkmsModule(Model):
    """A module's source that DKMS keeps. `key` is `name/version`."""

    key: str
    built_for: tuple[str, ...] = ()
    """Kernel releases that it is built for."""
    failed_for: str | None = None
    """The kernel release that the log of its last, failed build names."""


class Kernel(Model):
    release: str | None = None
    cmdline: str | None = None
    version: str | None = None
    modules: tuple[str, ...] | None = None
    """Loaded modules; built-in ones are not listed by the kernel."""
    kept_out: tuple[str, ...] | None = None
    """`PATH: LINE` of modprobe's configuration that keeps a GPU's module from loading by itself."""
    dkms: tuple[DkmsModule, ...] | None = None
    """GPU modules that DKMS knows; () where it has none."""
    lockdown: str | None = None
    secure_boot: bool | None = None


class Account(Model):
    """This account: numbers first, names from files only."""

    uid: int | None = None
    gid: int | None = None
    gids: tuple[int, ...] | None = None
    user: str | None = None
    groups: dict[str, int] | None = None
    """Name → gid of all groups that the files of this machine (or container) name."""
    member_of: tuple[str, ...] | None = None


class Container(Model):
    inside: bool | None = None
    engine: str | None = None
    """`docker`, `podman`, `kubernetes`, `containerd`, `lxc`, `apptainer`, `enroot`, `systemd-nspawn`."""
    image: str | None = None
    run_args: tuple[str, ...] | None = None
    """Of a `docker run …` line that a text shows."""
    engine_text: str | None = None
    """The engine as a text names it: `docker desktop`, `k3s with the AMD device plugin`."""
    engine_version: str | None = None
    toolkit_version: str | None = None
    """Version of the NVIDIA container toolkit."""
    toolkit_installed: bool | None = None
    runtimes: tuple[str, ...] | None = None
    """Runtimes that the engine is configured for (`runc`, `nvidia`), of daemon.json, `docker info` or containerd."""
    default_runtime: str | None = None
    no_cgroups: bool | None = None
    """NVIDIA container toolkit: whether it leaves the device cgroup alone."""
    cgroup_driver: str | None = None
    rootless: bool | None = None
    seccomp: Literal["off", "strict", "filter"] | None = None
    """What /proc/self/status says of this process."""
    capabilities: tuple[str, ...] | None = None
    """Of the bounding set, those that GPU work asks for: `SYS_NICE`, `SYS_PTRACE`, `IPC_LOCK`, `SYS_ADMIN`."""
    mempolicy: Literal["allowed", "refused"] | None = None
    """Whether the seccomp filter lets NUMA calls through: tried from inside on a machine of several NUMA nodes, read
    from the profile that the engine was given otherwise."""
    cdi_driver: str | None = None
    """The NVIDIA driver whose files a CDI spec names."""


class Host(Model):
    cpu: str | None = None
    machine: str | None = None
    """`x86_64`, `aarch64`, `ppc64le`."""
    memory_bytes: int | None = None
    virtual_machine: bool | None = None
    hypervisor: str | None = None
    wsl: bool | None = None
    tried: tuple[str, ...] | None = None
    """Of a text: what did not help, `reboot` or `groups` (that the account joined)."""
    cloud: str | None = None
    numa_balancing: int | None = None
    iommu: Literal["off", "passthrough", "translated"] | None = None
    cpu_governor: str | None = None
    shm_bytes: int | None = None
    memlock_bytes: int | None = None
    """-1: unlimited."""
    as_bytes: int | None = None
    """Of the address space (`ulimit -v`). -1: unlimited."""
    nofile: int | None = None
    nproc: int | None = None
    stack_bytes: int | None = None
    interfaces: tuple[str, ...] | None = None
    """Network interfaces, where a variable names one."""
    job_asks_gpus: bool | None = None
    """Whether the batch script or the job that a text shows asks its scheduler for GPUs."""
    glibc: str | None = None
    gcc: str | None = None
    """Newest gcc whose folder is installed (`12`)."""
    gcc_runtimes: tuple[str, ...] | None = None
    """Releases of gcc whose folder holds crtbegin.o: of these clang takes the newest, with its C++ headers."""
    libstdcxx_headers: tuple[str, ...] | None = None
    """Releases whose C++ headers lie in /usr/include/c++."""
    gcc_version: str | None = None
    """Of the gcc that answers to its name (`13.3.0`)."""
    hugepages_bytes: int | None = None
    transparent_hugepages: str | None = None
    uptime_s: int | None = None
    pending_reboot: tuple[str, ...] | None = None
    """What the distribution says a reboot is due for: package names, or `system`; () for nothing."""
    processes_seen: Literal["all", "namespace", "own"] | None = None
    """Whose processes could be looked at: all of the machine's, those of this PID namespace, or this account's own."""


class Holder(Model):
    """A process with a GPU's device node open, or one of a service that holds GPUs. `key` is its pid."""

    key: str
    pid: int
    name: str
    uid: int | None = None
    state: str | None = None
    """One letter of proc/PID/stat: `Z` a zombie, `D` waiting in the kernel."""
    kind: Literal["program", "display", "mps", "monitor", "service"] | None = None
    nodes: tuple[str, ...] | None = None
    """Device nodes that it holds open; None where its files can't be looked at."""
    in_container: bool | None = None


class Change(Model):
    """A change of the GPU stack that the machine's own history tells. `key` is time and package."""

    key: str
    when: str
    """ISO 8601, local time without a zone where the log has none."""
    package: str
    action: str
    """`install`, `upgrade`, `remove`."""
    old: str | None = None
    new: str | None = None
    by: str | None = None
    """`unattended-upgrades`, where the log of that names the package."""
    age_s: int | None = None
    """Seconds before this check; None where unknown."""


class KernelEvent(Model):
    """A kind of message in the kernel log, counted. `key` is code@device."""

    key: str
    code: str
    """`xid-79`, `sxid-12028`, `amdgpu-ring-timeout`, `amdgpu-page-fault` …"""
    device: str | None = None
    count: int = 1
    first: str | None = None
    last: str | None = None
    age_s: int | None = None
    """Seconds from its last occurrence to this check; None where the log's times can't be compared with now."""
    text: str
    programs: tuple[str, ...] | None = None
    """The last processes that its lines name (Xids, OOM kills): `python (4711)`."""


class KernelLog(Model):
    readable: bool | None = None
    since: str | None = None
    """From when on it was read: `boot`, or what --since asked for."""
    events: tuple[KernelEvent, ...] | None = None
