"""A bundle is judged as the machine was, but for pseudonyms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from doctor.bundle.open import open_bundle
from doctor.bundle.pack import write
from doctor.bundle.record import make
from doctor.compare import compare
from doctor.diagnosis.run import Options, examine
from doctor.report.json import as_data
from doctor.system.base import System
from doctor.system.live import LiveSystem
from doctor.system.tree import TreeSystem
from tests.paths import CAPTURES, FIELDLAB, needs_shared
from tests.probes.amd_trees import mi300x

DRM = sorted(p.name for p in FIELDLAB.glob("*drm-sysfs")) if FIELDLAB.is_dir() else []


def judged(system: System) -> list[tuple[Any, ...]]:
    data = as_data(examine(system, Options()))
    return [(f["rule"], f["severity"], f["subject"]["kind"]) for f in data["findings"]]


def same(system: System, path: Path) -> None:
    made = make(system, created="2026-11-21T12:00:00Z")
    write(path, made.files)
    assert judged(open_bundle(path).system()) == judged(system)


def test_a_tree_of_two_gpus(tmp_path: Path) -> None:
    mi300x(tmp_path / "root", 0xC1, 0xD1)
    same(TreeSystem(tmp_path / "root"), tmp_path / "b.tar.gz")


def test_this_machine(tmp_path: Path) -> None:
    same(LiveSystem(), tmp_path / "b.tar.gz")


@needs_shared
@pytest.mark.parametrize("name", DRM)
def test_trees_of_captured_machines(name: str, tmp_path: Path) -> None:
    shutil.copytree(FIELDLAB / name / "snapshot", tmp_path / "root/sys/class/drm", symlinks=True)
    same(TreeSystem(tmp_path / "root"), tmp_path / "b.tar.gz")


def test_secrets_of_the_environment_are_in_no_byte_of_it(tmp_path: Path) -> None:
    secret = "Zq8" + "vT3kP0sLw9" * 2
    made = make(LiveSystem({"PATH": "/usr/bin", "WANDB_API_KEY": secret, "USER": "carla99"}), created="x")
    for name, content in made.files.items():
        assert secret.encode() not in content, name
        assert b"carla99" not in content, name


def test_two_reports_differ_by_fact_and_finding() -> None:
    before = {"findings": [], "snapshot": {"nvidia_driver": {"version": "1"}, "gpus": [{"key": "a", "name": "x"}]}}
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
