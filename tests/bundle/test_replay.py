"""A bundle is judged as the machine was, but for pseudonyms."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from doctor.bundle.open import open_bundle
from doctor.bundle.pack import write
from doctor.bundle.record import Made, make
from doctor.compare import compare, flat
from doctor.engine.run import Options, examine
from doctor.findings import Report
from doctor.report.formats import render
from doctor.system.base import System
from doctor.system.capture import CaptureSystem
from doctor.system.live import LiveSystem
from doctor.system.tree import TreeSystem
from tests.live.trees import lay_out, machines
from tests.paths import CAPTURES, FIELDLAB, needs_shared
from tests.probes.amd_trees import mi300x

NOISE = re.compile(r"(?:uptime_s|age_s|_seconds|memory_available_bytes|memory_used_bytes|probes\.[a-z_]+.*)\Z")
"""Facts of this machine that two checks may tell differently: clocks and what is free."""


def judged(report: Report) -> list[tuple[Any, ...]]:
    return [(f.rule, f.severity, f.fingerprint, f.subject.kind, f.explained_by, f.basis) for f in report.findings]


def facts(report: Report) -> dict[str, Any]:
    told = report.snapshot.model_dump(mode="json")
    return {name: value for name, value in flat(told) if not NOISE.search(name)}


def same(system: System, path: Path) -> Made:
    """What is judged of the bundle is what is judged of the machine; the facts are, but for stand-ins. The bundle."""
    made = make(system, created="2026-11-21T12:00:00Z")
    write(path, made.files)
    live, told = examine(system, Options()), examine(open_bundle(path).system(), Options())
    assert judged(told) == judged(live)
    assert [u.rule for u in told.unchecked] == [u.rule for u in live.unchecked]
    assert told.clear == live.clear
    assert set(facts(told)) == set(facts(live))
    names = {**made.names, **{v: v for v in made.names.values()}}
    theirs = facts(told)  # once: a machine of 64 partitions has thousands
    differ = {name: (a, theirs[name]) for name, a in facts(live).items() if theirs[name] != a}
    for name, (a, b) in differ.items():
        assert STAND_IN.search(str(b)) or name.endswith(ID_FACTS) or str(a) in names, (name, a, b)
    return made


def same_at_rest(system: System, path: Path) -> Made:
    """Of a machine on which other tests start containers: it changes between two looks, though not each time."""
    for _ in range(3):
        with suppress(AssertionError):
            return same(system, path)
    return same(system, path)


ID_FACTS = ("uuid", "unique_id", "hive_id", "serial", "xgmi_hive_id", "board_serial", "guid", "key")
STAND_IN = re.compile(
    r"\[secret\]|(?:user|host|mail|serial|project|group|site)-[0-9a-f]{4}|198\.1[89]\.|02:00:00:|2001:db8|[0-9a-f]{8}-[0-9a-f]{4}-|0x[0-9a-f]{16}|GPU-[0-9a-f]{4}"
)


def test_a_tree_of_two_gpus(tmp_path: Path) -> None:
    mi300x(tmp_path / "root", 0xC1, 0xD1)
    same(TreeSystem(tmp_path / "root"), tmp_path / "b.tar.gz")


def test_stand_ins_of_a_bundle_are_kept_as_they_are(tmp_path: Path) -> None:
    """Else a GPU has one UUID in the bundle, and another in each report of it."""
    mi300x(tmp_path / "root", 0xC1, 0xD1)
    for number, card in enumerate(sorted((tmp_path / "root/sys/class/drm").glob("card*/device"))):
        (card / "unique_id").write_text(f"8f2a1b3c4d5e6f7{number}\n")
    system = TreeSystem(tmp_path / "root")
    write(tmp_path / "b.tar.gz", make(system, created="2026-11-21T12:00:00Z").files)
    live, kept = examine(system, Options()), examine(open_bundle(tmp_path / "b.tar.gz").system(), Options())
    originals, ids = ([str(gpu.uuid) for gpu in report.snapshot.gpus or ()] for report in (live, kept))
    assert len({*originals, *ids}) == 4
    for form in ("json", "jsonl", "html"):
        shown = render(form, kept)
        assert all(one in shown for one in ids), form
        assert not any(one in shown or one in render(form, live) for one in originals), form


def test_this_machine_with_an_account_s_home_and_secrets(tmp_path: Path) -> None:
    secret = "Zq8" + "vT3kP0sLw9" * 2
    environ = {
        "HOME": "/home/carla99", "USER": "carla99", "PATH": "/usr/bin", "HSA_OVERRIDE_GFX_VERSION": "9.9.9",
        "PYTORCH_TUNABLEOP_ENABLED": "1", "PYTORCH_TUNABLEOP_FILENAME": "/home/carla99/none/t.csv",
        "HF_TOKEN": "hf_" + "aB3" * 12, "WANDB_API_KEY": secret, "LD_LIBRARY_PATH": "/home/carla99/lib",
        "CUDA_VISIBLE_DEVICES": "GPU-8f2a1b3c", "LD_PRELOAD": "/home/carla99/x.so",
    }  # fmt: skip
    made = same_at_rest(LiveSystem(environ), tmp_path / "b.tar.gz")
    for name, content in made.files.items():
        assert secret.encode() not in content, name
        assert b"carla99" not in content, name


FEW = (
    "amd-mi25-1gpu-kfd",
    "amd-rx9070xt-drm-sysfs",
    "nvidia-h100-infiniband-class-gpud",
    "nvidia-p100-vm-ghw-snapshot",
)
"""One of each kind of tree; the others, of thousands of files, in the tier of minutes."""


@needs_shared
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in FEW else pytest.mark.slow) for n in sorted({*machines(), *FEW})]
)
def test_trees_of_captured_machines(name: str, tmp_path: Path) -> None:
    same(TreeSystem(lay_out(name, tmp_path / "root")), tmp_path / "b.tar.gz")


LOGS = sorted(FIELDLAB.glob("*/*journal*.txt")) + sorted(FIELDLAB.glob("*/*kmsg*")) + sorted(FIELDLAB.glob("*/*dmesg*"))
XMLS = [p for p in sorted(FIELDLAB.glob("**/*.xml")) if "nvidia_smi_log" in p.read_text(errors="replace")[:2000]]


def recording(**runs: str) -> CaptureSystem:
    entries: dict[str, dict[str, Any]] = {"environ": {"state": "value", "value": {"PATH": "/usr/bin"}}}
    for line, text in runs.items():
        output = {"code": 0, "stdout": text, "stderr": "", "seconds": 0.1}
        entries["run:" + json.dumps(line.split(), separators=(",", ":"))] = {"state": "value", "value": output}
    return CaptureSystem.of(entries)


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("path", XMLS, ids=lambda p: p.parent.name[:30] + "/" + p.name[:30])
def test_what_nvidia_smi_told_of_captured_machines(path: Path, tmp_path: Path) -> None:
    text = path.read_text(errors="replace")
    same(recording(**{"nvidia-smi -q -x": text}), tmp_path / "b.tar.gz")


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("path", LOGS, ids=lambda p: p.parent.name[:30] + "/" + p.name[:30])
def test_kernel_logs_of_captured_machines(path: Path, tmp_path: Path) -> None:
    text = path.read_text(errors="replace")
    same(recording(dmesg=text), tmp_path / "b.tar.gz")


def test_two_reports_differ_by_fact_and_finding() -> None:
    machine = {"nvidia_driver": {"version": "1"}, "gpus": [{"key": "a", "name": "x"}]}
    before = {"findings": [], "clear": ["r"], "snapshot": machine}
    after = json.loads(json.dumps(before))
    after["snapshot"]["nvidia_driver"]["version"] = "2"
    finding = {
        "rule": "r",
        "severity": "error",
        "summary": "s",
        "fingerprint": "f",
        "subject": {"kind": "k", "id": "-"},
    }
    after["findings"] = [finding]
    assert [(c.kind, c.name) for c in compare(before, after)] == [("finding", "r"), ("fact", "nvidia_driver.version")]
    assert compare(after, after) == ()


def test_a_bundle_of_format_1_stays_readable() -> None:
    machine = examine(open_bundle(CAPTURES / "bundle-1.tar.gz").system(), Options()).snapshot
    assert [gpu.arch for gpu in machine.gpus or ()] == ["gfx942", "gfx942"]
