"""A report's snapshot -> what makes one node equal to another: facts that an administrator sets, by area.

Readings of a moment (clocks, counters, link speeds that fall when idle), names and serials are no configuration. A fact
that is unknown is left out: nothing follows from it. Of several GPUs the common value is named alone, and one that
differs is named with its address, so that it can be found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Data = Mapping[str, Any]
Area = tuple[tuple[str, str], ...]

AREAS = (
    "doctor", "gpu", "driver", "firmware", "links", "devices", "kernel", "system", "stack", "packages", "flags",
    "bench",
)  # fmt: skip
"""In the order in which they are printed."""

NOT_KNOWN = "not known"
_LONGEST = 300
_GIB = 1 << 30
_PER_NODE = re.compile(
    r"^(root|resume|BOOT_IMAGE|initrd|ip|rd\.lvm\.lv|rd\.luks\S*|rd\.iscsi\S*|ostree|systemd\.machine_id|hostname|BOOTIF)="
)
"""Words of the kernel command line that name this node's disk or address."""
_DRIVER = {
    "nvidia_driver": ("loaded", "version", "flavour", "user_version", "module_on_disk"),
    "amdgpu_driver": ("loaded", "version", "source", "release"),
}
_PER_RANK = re.compile(
    r"^(SLURM|PMI|PMIX|OMPI|PRTE|FLUX|MPI|HYDRA|TORCHELASTIC|KUBERNETES)_|(^|_)(RANK|LOCAL_RANK|NODEID|PROCID|HOSTNAME|PID)$|"
    r"^(MASTER_ADDR|MASTER_PORT|WORLD_SIZE|GPU_DEVICE_ORDINAL|PATH|HOME|USER|LOGNAME|PWD|TMPDIR)$"
)
"""Variables that a scheduler sets for each job, node or rank."""
_HOST = ("cpu", "machine", "virtual_machine", "numa_balancing", "iommu", "cpu_governor", "transparent_hugepages",
         "memlock_bytes", "nofile", "glibc")  # fmt: skip
WHOLE = ("packages", "flags")
"""Areas that are read as a whole: a name that is not in them is known not to be there."""
AMOUNTS = ("memory", "shm", "GPU memory")
"""Facts in GiB; they differ by a little from kernel to kernel, and are equal within 2 %."""
OF_ALL_GPUS = ("gpu: GPU addresses", "gpu: GPU slots", "gpu: GPU NUMA nodes")
"""Lists of one entry a GPU: on a node with another number of GPUs they differ for that alone."""
_ERRORS = ("uncorrected", "uncorrected_lifetime", "remapped_uncorrectable", "remap_pending", "remap_failed",
           "retired_pending", "bad_pages")  # fmt: skip
"""What a sound GPU has none of. Corrected errors, and rows that they had remapped, come with age and mean nothing."""


def of(report: Data) -> dict[str, Area]:
    """Area -> (fact, value), in the order of facts. An area of which nothing is known is left out; one that is known to
    hold nothing is there, and empty."""
    machine = report.get("snapshot") or {}
    rows = {
        "doctor": [("doctor", str(report.get("doctor", "?")))],
        "gpu": _gpu(machine),
        "driver": _driver(machine),
        "firmware": _firmware(machine),
        "links": _links(machine),
        "devices": _devices(machine),
        "kernel": _kernel(machine),
        "system": _system(machine),
        "stack": _stack(machine),
        "packages": _packages(machine),
        "flags": _flags(machine),
        "bench": _bench(machine),
    }
    found = {area: tuple(sorted((name, _text(value)) for name, value in rows[area])) for area in AREAS}
    read = {"packages": machine.get("packages") is not None, "flags": machine.get("environment") is not None}
    return {area: facts for area, facts in found.items() if facts or read.get(area)}


def all_facts(report: Data) -> dict[str, str]:
    """`AREA: FACT` -> value, of one report."""
    return {f"{area}: {name}": value for area, facts in of(report).items() for name, value in facts}


def kind(machine: Data) -> str:
    """What hardware a node is: its GPUs' models; `no GPU` where none is there, `unknown` where that is not known."""
    gpus = machine.get("gpus")
    if gpus is None:
        return "unknown"
    models = Counter(str(g.get("name") or g.get("pci_id") or "") for g in _dicts(gpus))
    names = sorted(name for name in models if name)
    return _text(" + ".join(names)) if names else ("no GPU" if not gpus else "unknown")


def identity(machine: Data) -> tuple[str, ...]:
    """PCI ids of the GPUs, which stay the same with and without a driver; their names where no id is known."""
    return tuple(sorted({str(g.get("pci_id") or g.get("name") or "") for g in _dicts(machine.get("gpus"))} - {""}))


def _dicts(rows: Any) -> list[Data]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _text(value: Any) -> str:
    text = "yes" if value is True else "no" if value is False else str(value)
    text = text[:_LONGEST]
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _plain(of: Data, fields: Iterable[str], before: str = "") -> Iterator[tuple[str, Any]]:
    for field in fields:
        value = of.get(field)
        if value is not None and not isinstance(value, (list, dict)):
            yield f"{before}{field}", value


def _each(gpus: list[Data], value: Callable[[Data], Any]) -> str | None:
    """The value that all have; else the common one, and the others with their addresses. None where it is not known of
    any: where the others of one node tell it, one that does not is unlike them."""
    values = [value(gpu) for gpu in gpus]
    if not values or values.count(values[0]) == len(values):
        return _text(values[0]) if values and values[0] is not None else None
    common = Counter(v for v in values if v is not None).most_common(1)[0][0]
    others = [
        f"{g.get('pci_address') or g.get('key')}: {NOT_KNOWN if v is None else _text(v)}"
        for g, v in zip(gpus, values, strict=True)
        if v != common
    ]
    return f"{_text(common)}; " + ", ".join(others)


def _shared(gpus: list[Data], asked: Mapping[str, Callable[[Data], Any]]) -> Iterator[tuple[str, str]]:
    for name, value in asked.items():
        if (shared := _each(gpus, value)) is not None:
            yield name, shared


def _field(*path: str) -> Callable[[Data], Any]:
    """Reads the value at the end of those keys; None where one is missing."""

    def read(member: Data) -> Any:
        here: Any = member
        for key in path:
            here = here.get(key) if isinstance(here, dict) else None
        return here

    return read


def _gib(value: Any) -> str | None:
    """Three digits: `192 GiB`, `1.97e+03` never."""
    if not isinstance(value, (int, float)) or value <= 0:
        return None
    amount = value / _GIB
    return f"{amount:.0f} GiB" if amount >= 100 else f"{amount:.3g} GiB"


def _gpu(machine: Data) -> Iterator[tuple[str, str]]:
    if machine.get("gpus") is None:
        return
    gpus = _dicts(machine.get("gpus"))
    yield "GPUs", str(len(gpus))
    lost = [str(g.get("pci_address") or g.get("key")) for g in gpus if g.get("lost")]
    if lost:
        yield "lost GPUs", ", ".join(lost)
    fields = ("pci_id", "subsystem_id", "compute_partition", "memory_partition", "mig_mode", "compute_mode",
              "persistence_mode", "vgpu")  # fmt: skip
    yield from _shared(gpus, {"GPU " + f.replace("_", " "): _field(f) for f in fields})
    yield from _shared(
        gpus,
        {
            "GPU memory": lambda g: _gib(g.get("memory_bytes")),
            "GPU ECC": _field("errors", "ecc_enabled"),
            "GPU power limit": _field("sensors", "power_limit_w"),
            "GPU driver": _field("driver"),
        },
    )
    yield from _shared(gpus, {f"GPU errors: {name.replace('_', ' ')}": _field("errors", name) for name in _ERRORS})
    for name, field in (("addresses", "pci_address"), ("slots", "slot"), ("NUMA nodes", "numa_node")):
        rows = sorted(((str(g.get("pci_address")), g.get(field)) for g in gpus), key=lambda row: row[0])
        if rows and all(value is not None for _, value in rows):
            yield f"GPU {name}", " ".join(str(value) for _, value in rows)


def _devices(machine: Data) -> Iterator[tuple[str, str]]:
    """Mode and owner of each kind of device node: `0660 root:render`, one that differs with its path."""
    nodes = [node for node in _dicts(machine.get("nodes")) if node.get("is_device") is not False]
    for kind in sorted({str(node.get("kind"))[:60] for node in nodes}):
        yield from _shared([node for node in nodes if node.get("kind") == kind], {f"{kind} nodes": _owned})


def _owned(node: Data) -> str | None:
    mode, owner, group = node.get("mode"), node.get("uid"), node.get("group") or node.get("gid")
    if not isinstance(mode, int) or owner is None or group is None:
        return None
    return f"{mode & 0o7777:04o} {'root' if owner == 0 else owner}:{'root' if group == 0 else group}"


def _driver(machine: Data) -> Iterator[tuple[str, Any]]:
    for part, fields in _DRIVER.items():
        driver = machine.get(part) or {}
        yield from _plain(driver, fields, f"{part}.")
        for name, value in sorted((driver.get("params") or {}).items())[:400]:
            yield f"{part}.params.{str(name)[:60]}", value
    for name in ("fabric_manager", "imex"):
        service = (machine.get("nvidia_driver") or {}).get(name) or {}
        yield from _plain(service, ("installed", "running", "version"), f"{name}.")


def _firmware(machine: Data) -> Iterator[tuple[str, str]]:
    gpus = _dicts(machine.get("gpus"))
    yield from _shared(gpus, {"vbios": _field("vbios"), "bundle": _field("firmware_bundle")})
    blocks = sorted({str(name)[:60] for g in gpus for name in (g.get("firmware") or {})})[:64]
    yield from _shared(gpus, {f"firmware {block}": _field("firmware", block) for block in blocks})
    yield from _shared(_dicts(machine.get("rdma")), {"NIC firmware": _field("firmware")})


def _links(machine: Data) -> Iterator[tuple[str, str]]:
    gpus = _dicts(machine.get("gpus"))
    for name, field in (("width", "width"), ("width at most", "max_width"), ("GT/s at most", "max_speed_gt_s")):
        yield from _shared(gpus, {f"PCIe {name}": _field("link", field)})
    yield from _shared(gpus, {"GPU links up": _links_up})
    nics = _dicts(machine.get("rdma"))
    if machine.get("rdma") is not None:
        yield "RDMA NICs", str(len(nics))
    fields = ("state", "physical_state", "rate", "link_layer", "numa_node")
    yield from _shared(nics, {f"NIC {f.replace('_', ' ')}": _field(f) for f in fields})


def _links_up(gpu: Data) -> str | None:
    links = gpu.get("links")
    if not isinstance(links, list) or any(not isinstance(k, Mapping) or k.get("up") is None for k in links):
        return None
    return f"{sum(bool(k['up']) for k in links)} of {len(links)}"


def _kernel(machine: Data) -> Iterator[tuple[str, Any]]:
    kernel = machine.get("kernel") or {}
    yield from _plain(kernel, ("release", "lockdown", "secure_boot"), "kernel.")
    if isinstance(kernel.get("cmdline"), str):
        words = [w for w in kernel["cmdline"].split() if not _PER_NODE.match(w)]
        yield "kernel.cmdline", " ".join(words)


def _system(machine: Data) -> Iterator[tuple[str, Any]]:
    yield from _plain(machine.get("os") or {}, ("id", "version"), "os.")
    host = machine.get("host") or {}
    yield from _plain(host, _HOST, "host.")
    for name, field in (("memory", "memory_bytes"), ("shm", "shm_bytes")):
        if (amount := _gib(host.get(field))) is not None:
            yield name, amount
    container = machine.get("container") or {}
    yield from _plain(container, ("inside", "engine", "toolkit_version"), "container.")


def _stack(machine: Data) -> Iterator[tuple[str, str]]:
    for part in ("rocm", "cuda"):
        if machine.get(part) is not None:
            installs = sorted(f"{i.get('version') or '?'} in {i.get('path')}" for i in _dicts(machine.get(part)))
            yield part, ", ".join(installs) or "none"
    for part in ("engines", "toolkits"):
        for row in _dicts(machine.get(part)):
            if row.get("version"):
                yield f"{part[:-1]} {row.get('key')}", str(row["version"])
    yield from _plain(machine.get("torch") or {}, ("installed", "version", "build", "cuda", "hip"), "torch.")
    yield from _plain(machine.get("interpreter") or {}, ("path", "version"), "interpreter.")


def _packages(machine: Data) -> Iterator[tuple[str, str]]:
    """Of the chosen Python. Several copies of one name are all listed."""
    copies: dict[str, tuple[str, ...]] = {}
    for row in _dicts(machine.get("packages")):
        name, version = str(row.get("name"))[:100], str(row.get("version"))
        others = copies.get(name, ())
        if version not in others:
            copies[name] = (*others, version)
    for name, versions in copies.items():
        yield name, ", ".join(sorted(versions))


def _flags(machine: Data) -> Iterator[tuple[str, str]]:
    """Variables of the account that the check ran as, without those of its job."""
    variables = machine.get("environment")
    for name, value in (variables or {}).items() if isinstance(variables, Mapping) else ():
        if not _PER_RANK.search(str(name)):
            yield str(name)[:100], str(value) or "(empty)"


def _bench(machine: Data) -> Iterator[tuple[str, str]]:
    """What `doctor bench` measured there; a case that failed says how it ended."""
    for row in _dicts(machine.get("bench"))[:200]:
        name, spread = str(row.get("key"))[:100], row.get("value")
        if row.get("outcome") not in ("ran", None):
            yield name, str(row["outcome"])
        elif isinstance(spread, dict) and isinstance(spread.get("p50"), (int, float)):
            yield name, f"{spread['p50']:.4g} {row.get('unit')}"
