"""A recording of what a check read answers the same probes the same way, also after a hang."""

from __future__ import annotations

import time
from pathlib import Path

from doctor.engine.gather import gather
from doctor.engine.recording import Recording, streaming
from doctor.engine.registry import Probe, probes
from doctor.facts import FactSheet
from doctor.system.base import System
from doctor.system.capture import CaptureSystem
from doctor.system.tree import TreeSystem


def reads_and_hangs(system: System, sheet: FactSheet) -> None:
    system.read_text("etc/long")
    time.sleep(60)


def test_what_a_hung_probe_read_is_kept(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/long").write_text("x" * 900_000)
    record = Recording()
    gather(TreeSystem(tmp_path), [Probe("reads_and_hangs", reads_and_hangs)], 0.5, record)
    assert len(record.entries["text:etc/long"]["value"]) == 900_000


def test_a_long_entry_arrives_in_pieces() -> None:
    record, machine = Recording(), CaptureSystem.of({"text:a": {"state": "value", "value": "é" * 1_000_000}})
    streaming(machine, lambda message: record.take("probe", message)).read_text("a", limit=4 << 20)
    assert record.entries["text:a"]["value"] == "é" * 1_000_000


def test_the_recording_of_a_tree_is_judged_as_the_tree(tmp_path: Path) -> None:
    for path, text in {
        "etc/os-release": "ID=ubuntu\nVERSION_ID=24.04\n",
        "proc/modules": "amdgpu 1 0 - Live 0x0\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    record = Recording()
    live = gather(TreeSystem(tmp_path), probes(), 10, record).machine
    replayed = gather(CaptureSystem.of(record.entries), probes(), 10).machine
    assert replayed.model_dump() == live.model_dump()
