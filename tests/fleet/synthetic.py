"""A fleet of any size, made from the reports of captured machines, with outliers planted and remembered.

Each node is a captured machine's report with a host around it (kernel, cpu, packages, variables) and its own readings
of the moment, so that equal nodes are not equal texts.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.report.formats.json import as_data
from doctor.triage.read import read_text
from tests.paths import FIELDLAB

Report = dict[str, Any]
MACHINES = (
    ("h", "nvidia-h100sxmx8-gls", "nvidia-smi.txt"),
    ("m", "amd-mi300x-8gpu-mlengineering", "rocm-smi.txt"),
    ("a", "nvidia-a10-gls", "nvidia-smi.txt"),
)
PACKAGES = {f"package-{n}": f"1.{n}.0" for n in range(120)} | {"torch": "2.10.0", "numpy": "2.3.1", "triton": "3.5.0"}


@lru_cache(maxsize=8)
def captured(machine: str, file: str) -> Report:
    data = as_data(judge(read_text([(FIELDLAB / machine / file).read_bytes()]), Knowledge()))
    data.update(findings=[], status="ok", layers=dict.fromkeys(data["layers"], "ok"))
    machine_ = data["snapshot"]
    machine_["kernel"].update(release="6.8.0-60-generic", cmdline="root=UUID=0 ro iommu=pt pci=realloc=off")
    if machine_["gpus"][0]["vendor"] == "amd":
        machine_["amdgpu_driver"].update(loaded=True, version="6.12.12")
    machine_["os"].update(id="ubuntu", version="22.04")
    machine_["host"].update(cpu="AMD EPYC 9654", memory_bytes=1547 << 30, numa_balancing=0, iommu="passthrough")
    machine_["packages"] = [{"name": n, "version": v, "location": "/opt/venv"} for n, v in PACKAGES.items()]
    machine_["environment"] = {"NCCL_IB_HCA": "mlx5", "HSA_NO_SCRATCH_RECLAIM": "1", "SLURM_JOB_ID": "1"}
    machine_["rdma"] = [
        {
            "key": f"mlx5_{n}",
            "state": "ACTIVE",
            "rate": "400 Gb/sec (4X NDR)",
            "link_layer": "InfiniBand",
            "firmware": "28.39.1002",
        }
        for n in range(8)
    ]
    vendor = machine_["gpus"][0]["vendor"]
    for number, gpu in enumerate(machine_["gpus"]):
        gpu.update(numa_node=number // 4, slot=str(number + 1), driver="nvidia" if vendor == "nvidia" else "amdgpu")
        gpu["pci_address"] = gpu["pci_address"] or f"0000:{number + 17:02x}:00.0"
        gpu["errors"] |= {"corrected": 0, "uncorrected": 0, "remap_failed": False, "remapped_uncorrectable": 0}
        gpu["sensors"]["power_limit_w"] = 700.0
        gpu["vbios"] = "96.00.74.00.01"
        gpu["link"] = {"speed_gt_s": 32.0, "width": 16, "max_speed_gt_s": 32.0, "max_width": 16}
    kinds = {"nvidia": ("nvidia", "nvidiactl"), "amd": ("render", "kfd")}[vendor]
    machine_["nodes"] = [
        {"key": f"/dev/{kind}{n}", "kind": kind, "is_device": True, "mode": 0o666, "uid": 0, "gid": 0}
        for kind in kinds
        for n in range(2)
    ]
    return data


def lived(report: Report, node: str, dice: random.Random) -> Report:
    """What differs on every node and is no configuration."""
    machine = report["snapshot"]
    machine["host"]["uptime_s"] = dice.randrange(10**7)
    machine["host"]["memory_bytes"] += dice.randrange(64 << 20)
    machine["kernel"]["cmdline"] = machine["kernel"]["cmdline"].replace("UUID=0", f"UUID={node}")
    machine["environment"]["SLURM_JOB_ID"] = str(dice.randrange(10**6))
    for gpu in machine["gpus"]:
        gpu["uuid"] = f"GPU-{dice.getrandbits(64):x}"
        gpu["serial"] = str(dice.getrandbits(40))
        gpu["link"]["speed_gt_s"] = dice.choice((2.5, 32.0))
        gpu["sensors"]["temperature_c"] = float(dice.randrange(30, 70))
        gpu["errors"]["corrected"] = dice.choice((0, 0, 0, 2))
    row = {"key": "gemm/bf16/8192@cuda:0", "unit": "TFLOP/s", "outcome": "ran"}
    machine["bench"] = [{**row, "value": {"p50": dice.uniform(600, 630), "low": 1.0, "high": 2.0, "repeats": 200}}]
    return report


def _driver(report: Report) -> None:
    machine = report["snapshot"]
    which = "nvidia_driver" if machine["gpus"][0]["vendor"] == "nvidia" else "amdgpu_driver"
    machine[which]["version"] = "1.2.3"


def _firmware(report: Report) -> None:
    report["snapshot"]["gpus"][-1]["vbios"] = "96.00.30.00.01"


def _link(report: Report) -> None:
    report["snapshot"]["gpus"][0]["link"]["width"] = 8


def _nic(report: Report) -> None:
    report["snapshot"]["rdma"][3]["state"] = "DOWN"


def _kernel(report: Report) -> None:
    report["snapshot"]["kernel"]["release"] = "6.8.0-51-generic"


def _cmdline(report: Report) -> None:
    report["snapshot"]["kernel"]["cmdline"] = report["snapshot"]["kernel"]["cmdline"].replace(" iommu=pt", "")


def _package(report: Report) -> None:
    next(p for p in report["snapshot"]["packages"] if p["name"] == "torch")["version"] = "2.9.1"


def _no_package(report: Report) -> None:
    report["snapshot"]["packages"] = [p for p in report["snapshot"]["packages"] if p["name"] != "triton"]


def _more_packages(report: Report) -> None:
    report["snapshot"]["packages"].append({"name": "bitsandbytes", "version": "0.48"})


def _flag(report: Report) -> None:
    report["snapshot"]["environment"]["NCCL_P2P_DISABLE"] = "1"


def _no_flag(report: Report) -> None:
    del report["snapshot"]["environment"]["HSA_NO_SCRATCH_RECLAIM"]


def _memory(report: Report) -> None:
    report["snapshot"]["host"]["memory_bytes"] -= 96 << 30


def _fewer_gpus(report: Report) -> None:
    report["snapshot"]["gpus"].pop()


def _no_gpus(report: Report) -> None:
    report["snapshot"]["gpus"] = []


def _numa(report: Report) -> None:
    report["snapshot"]["gpus"][-1]["numa_node"] = 7


def _slot(report: Report) -> None:
    report["snapshot"]["gpus"][-1]["slot"] = "44"


def _unbound(report: Report) -> None:
    report["snapshot"]["gpus"][-1]["driver"] = "none"


def _uncorrected(report: Report) -> None:
    report["snapshot"]["gpus"][0]["errors"]["uncorrected"] = 3


def _remap_failed(report: Report) -> None:
    report["snapshot"]["gpus"][0]["errors"]["remap_failed"] = True


def _mode(report: Report) -> None:
    report["snapshot"]["nodes"][0]["mode"] = 0o600


def _power(report: Report) -> None:
    report["snapshot"]["gpus"][0]["sensors"]["power_limit_w"] = 500.0


def _nic_gone(report: Report) -> None:
    report["snapshot"]["rdma"].pop()


def _nic_rate(report: Report) -> None:
    report["snapshot"]["rdma"][2]["rate"] = "200 Gb/sec (4X HDR)"


def _slow(report: Report) -> None:
    report["snapshot"]["bench"][0]["value"]["p50"] = 420.0


def _numa_balancing(report: Report) -> None:
    report["snapshot"]["host"]["numa_balancing"] = 1


def _os(report: Report) -> None:
    report["snapshot"]["os"]["version"] = "24.04"


PLANTS: dict[str, Callable[[Report], None]] = {
    "driver: nvidia_driver.version|driver: amdgpu_driver.version": _driver,
    "firmware: vbios": _firmware,
    "links: PCIe width": _link,
    "links: NIC state": _nic,
    "kernel: kernel.release": _kernel,
    "kernel: kernel.cmdline": _cmdline,
    "packages: torch": _package,
    "packages: triton": _no_package,
    "packages: bitsandbytes": _more_packages,
    "flags: NCCL_P2P_DISABLE": _flag,
    "flags: HSA_NO_SCRATCH_RECLAIM": _no_flag,
    "system: memory": _memory,
    "gpu: GPU NUMA nodes": _numa,
    "gpu: GPU slots": _slot,
    "gpu: GPU driver": _unbound,
    "gpu: GPU errors: uncorrected": _uncorrected,
    "gpu: GPU errors: remap failed": _remap_failed,
    "devices: nvidia nodes|devices: render nodes": _mode,
    "gpu: GPU power limit": _power,
    "links: RDMA NICs": _nic_gone,
    "links: NIC rate": _nic_rate,
    "bench: gemm/bf16/8192@cuda:0": _slow,
    "system: host.numa_balancing": _numa_balancing,
    "system: os.version": _os,
    "gpu: GPUs": _fewer_gpus,
    "gpu: GPUs|no GPU at all": _no_gpus,
}


LOST = ("links: PCIe width", "links: NIC state", "links: RDMA NICs", "gpu: GPUs", "gpu: GPUs|no GPU at all")
"""Plants that take something from a node, which is then to be drained."""


@dataclass
class Fleet:
    """`reports()` gives node and line; `planted` holds, for each odd node, the fact in which it differs."""

    size: int
    seed: int = 1
    every: int = 100
    """One node of so many is odd."""
    planted: dict[str, str] = field(default_factory=dict)
    errors: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)

    def reports(self) -> Iterator[tuple[str, bytes]]:
        dice = random.Random(self.seed)
        facts = list(PLANTS)
        for number in range(self.size):
            letter, machine, file = MACHINES[0 if number < self.size * 0.6 else 1 if number < self.size * 0.95 else 2]
            node = f"{letter}{number:05}"
            report = lived(copy.deepcopy(captured(machine, file)), node, dice)
            if number % self.every == self.every // 2:
                fact = facts[(number // self.every) % len(facts)]
                if letter == "a" and fact.startswith("gpu: GPUs"):  # its one GPU is all that it has
                    fact = "kernel: kernel.release"
                PLANTS[fact](report)
                self.planted[node] = fact
            elif number % self.every == self.every // 3:
                report["status"] = "error"
                report["findings"] = [{"rule": "gpu-lost", "severity": "error", "summary": "A GPU fell off the bus."}]
                self.errors.add(node)
            elif number % (self.every * 5) == 7:
                self.silent.add(node)
                yield node, b""
                continue
            yield node, json.dumps(report, separators=(",", ":")).encode()
