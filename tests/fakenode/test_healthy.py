"""Machines in which nothing is wrong: what is known of them is right, and nothing is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doctor.cli.main import run as doctor
from tests.fakenode.cases import HEALTHY, NEAR_MISSES
from tests.fakenode.conftest import Reports

pytestmark = pytest.mark.fakenode
_H100 = ("sm_90", 80 << 30)
_MI300X = ("gfx942", 192 << 30)


class Known(NamedTuple):
    """What must be known. GPUs are (arch, bytes), in PCI order; partitions those of each GPU."""

    gpus: tuple[tuple[str, int], ...]
    bound: str | None
    driver: str | None
    flavour: str | None = None
    kernel: str = "6.8.0-60-generic"
    installs: tuple[str, ...] = ()
    container: str | None = None
    partitions: int = 0


JAMMY = "5.15.0-122-generic"
EXPECTED = {
    "eight H100 with NVSwitches": Known((_H100,) * 8, "nvidia", "580.95.05", "open", JAMMY, ("12.8.0", "12.9.0")),
    "an RTX 4090": Known((("sm_89", 24 << 30),), "nvidia", "580.95.05", "open"),
    "an RTX 5090": Known((("sm_120", 32 << 30),), "nvidia", "580.95.05", "open"),
    "a GTX 1080, proprietary module": Known((("sm_61", 8 << 30),), "nvidia", "580.95.05", "proprietary", JAMMY),
    "two A100 on Rocky with an old driver": Known(
        (("sm_80", 80 << 30),) * 2, "nvidia", "470.256.02", "proprietary", "5.14.0-570.12.1.el9_6.x86_64"
    ),
    "a GH200": Known((("sm_90", 96 << 30),), "nvidia", "580.95.05", "open"),
    "eight MI300X": Known((_MI300X,) * 8, "amdgpu", "6.12.12", None, JAMMY, ("6.3.4", "6.4.1")),
    "eight MI300X in CPX": Known((_MI300X,) * 8, "amdgpu", "6.12.12", None, JAMMY, ("6.4.1",), None, 8),
    "an RX 7900 XTX": Known((("gfx1100", 24 << 30),), "amdgpu", "6.12.12", None, installs=("6.4.1",)),
    "an APU beside an RX 7900 XTX": Known(
        (("gfx1100", 24 << 30), ("gfx1036", 512 << 20)), "amdgpu", "6.12.12", None, installs=("6.4.1",)
    ),
    "two H100 in a Docker container": Known((_H100,) * 2, "nvidia", "580.95.05", "open", JAMMY, (), "docker"),
    "two MI300X in a Podman container": Known((_MI300X,) * 2, "amdgpu", "6.12.12", None, JAMMY, ("6.4.1",), "podman"),
    "two MI300X in a pod": Known((_MI300X,) * 2, "amdgpu", "6.12.12", None, JAMMY, ("6.4.1",), "kubernetes"),
    "an RTX 4090 in WSL": Known((("sm_89", 24 << 30),), None, "580.95.05", None, "6.6.87.2-microsoft-standard-WSL2"),
}


def known(snapshot: dict[str, Any]) -> Known:
    gpus = snapshot["gpus"] or []
    bound = {gpu["driver"] for gpu in gpus}
    nvidia, amdgpu = snapshot["nvidia_driver"], snapshot["amdgpu_driver"]
    installs = [*(snapshot["rocm"] or ()), *(snapshot["cuda"] or ())]
    partitions = {len(gpu["partitions"] or ()) for gpu in gpus}
    return Known(
        tuple((gpu["arch"], gpu["memory_bytes"]) for gpu in sorted(gpus, key=lambda g: g["pci_address"])),
        bound.pop() if len(bound) == 1 else str(bound),
        nvidia["version"] or amdgpu["version"],
        nvidia["flavour"],
        snapshot["kernel"]["release"],
        tuple(sorted(install["version"] for install in installs)),
        snapshot["container"]["engine"] if snapshot["container"]["inside"] else None,
        partitions.pop() if len(partitions) == 1 else -1,
    )


def test_every_machine_is_known_for_what_it_is(reports: Reports) -> None:
    assert {name: known(reports[name]["snapshot"]) for name in HEALTHY} == EXPECTED


def test_nothing_is_wrong_with_healthy_machines_and_near_misses(reports: Reports) -> None:
    found = {
        name: [(f["rule"], f["severity"], f["summary"]) for f in reports[name]["findings"] if f["severity"] != "info"]
        for name in (*HEALTHY, *NEAR_MISSES)
    }
    assert {name: findings for name, findings in found.items() if findings} == {}


def test_healthy_machines_are_well(reports: Reports) -> None:
    unwell = {name: reports[name]["status"] for name in HEALTHY if reports[name]["status"] not in ("ok", "partial")}
    assert unwell == {}


def test_no_probe_fails_on_a_described_machine(reports: Reports) -> None:
    failed = {
        name: [n for n in report["snapshot"]["origins"] if n.startswith("probes.")] for name, report in reports.items()
    }
    assert {name: probes for name, probes in failed.items() if probes} == {}


def test_the_same_folder_read_as_a_tree_shows_the_same_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a namespace: `--root` runs no command and no NVML, so what these alone know stays unknown."""
    different = {}
    for place, (name, expected) in enumerate(EXPECTED.items()):
        if "WSL" in name:  # its GPU is on no bus, and only NVML sees it
            continue
        root = tmp_path / str(place)
        root.mkdir()
        with HEALTHY[name].laid_out(root):
            assert doctor(["check", "--root", str(root), "--format", "json"]) == 0
        report = json.loads(capsys.readouterr().out)
        seen = known(report["snapshot"])
        archs = tuple(arch for arch, _ in seen.gpus)
        wanted = tuple(arch for arch, _ in expected.gpus)
        if (archs, seen[1:]) != (wanted, expected[1:]) or report["status"] not in ("ok", "partial"):
            different[name] = (seen, report["status"])
    assert different == {}
