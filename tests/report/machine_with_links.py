"""Eight GPUs and four NICs on two NUMA nodes, with links, one of them down, and measurements."""

from __future__ import annotations

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Finding, ProfileVerdict, Report, Severity, Subject

BUSES = ("1b", "3d", "4e", "5f", "9b", "bd", "cd", "dd")


def address(bus: str) -> str:
    return f"0000:{bus}:00.0"


def machine(name: str = "NVIDIA H100 80GB HBM3") -> Snapshot:
    sheet = FactSheet()
    for at, bus in enumerate(BUSES):
        gpu = f"gpus[{address(bus)}]"
        sheet.put(f"{gpu}.pci_address", address(bus), "test")
        sheet.put(f"{gpu}.vendor", "nvidia", "test")
        sheet.put(f"{gpu}.name", name, "test")
        sheet.put(f"{gpu}.numa_node", at // 4, "test")
        sheet.put(f"{gpu}.link.width", 8 if at == 2 else 16, "test")
        peers = [b for b in BUSES if b != bus]
        sheet.put(
            f"{gpu}.links",
            [{"kind": "nvlink", "index": n, "up": {bus, p} != {"1b", "3d"}, "peer": address(p)}
             for n, p in enumerate(peers)],
            "test",
        )  # fmt: skip
    for at in range(4):
        nic = f"rdma[mlx5_{at}]"
        sheet.put(f"{nic}.state", "ACTIVE", "test")
        sheet.put(f"{nic}.rate", "400 Gb/sec", "test")
        sheet.put(f"{nic}.numa_node", at // 2, "test")
        sheet.put(f"{nic}.near_gpu", address(BUSES[at * 2]), "test")
    for n, (what, low) in enumerate((("gemm matmul", 600.0), ("gemm linear", 420.0))):
        bench = f"bench[{what}/bf16/8192x8192x8192@cuda:0]"
        for field, value in (("what", what), ("dtype", "bf16"), ("shape", "8192x8192x8192"), ("device", "cuda:0"),
                             ("unit", "TFLOP/s")):  # fmt: skip
            sheet.put(f"{bench}.{field}", value, "test")
        sheet.put(
            f"{bench}.value",
            {"p50": low + 10, "low": low, "high": low + 20 + n, "repeats": 200, "coverage": 0.9621},
            "test",
        )
    return assemble([sheet])


def report(name: str = "NVIDIA H100 80GB HBM3") -> Report:
    wrong = Finding(
        rule="pcie-link-degraded",
        severity=Severity.ERROR,
        summary="GPU 0000:4e:00.0 runs at 8 of 16 lanes.",
        subject=Subject(kind="gpu", id=address("4e")),
        fingerprint="4" * 16,
    )
    return Report(doctor="1", status="error", findings=(wrong,), snapshot=machine(name))


def measured_mi300x() -> Report:
    """One MI300X with two measurements, judged by a profile that has a number for one of them."""
    sheet = FactSheet()
    gpu = f"gpus[{address('1b')}]"
    for field, told in (
        ("pci_address", address("1b")),
        ("vendor", "amd"),
        ("name", "AMD Instinct MI300X"),
        ("arch", "gfx942"),
    ):
        sheet.put(f"{gpu}.{field}", told, "test")
    for what, low in (("gemm matmul", 510.0), ("gemm linear", 460.0)):
        bench = f"bench[{what}/bf16/4864x4096x8192@cuda:0]"
        for field, told in (("what", what), ("dtype", "bf16"), ("shape", "4864x4096x8192"), ("device", "cuda:0"),
                            ("unit", "TFLOP/s"), ("outcome", "ran")):  # fmt: skip
            sheet.put(f"{bench}.{field}", told, "test")
        sheet.put(
            f"{bench}.value",
            {"p50": low + 10, "low": low, "high": low + 20, "repeats": 200, "coverage": 0.9621},
            "test",
        )
    judged = ProfileVerdict(name="mi300x+rocm7.2", status="vendor-matrix", chosen="named", why="--profile")
    return Report(doctor="1", status="ok", snapshot=assemble([sheet]), profile=judged)
