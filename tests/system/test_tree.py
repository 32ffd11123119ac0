"""A tree under another root: nothing leads out of it, and what it lacks altogether is not "absent"."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system.base import Reading
from doctor.system.tree import TreeSystem


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text("ID=ubuntu\n")
    return root


def test_reads_below_the_root(root: Path) -> None:
    tree = TreeSystem(root)
    reading = tree.read_text("etc/os-release")
    assert (reading.value, reading.source) == ("ID=ubuntu\n", "file:/etc/os-release")
    assert tree.read_bytes("etc/os-release", offset=3, length=3).value == b"ubu"
    assert tree.list_dir("etc").value == ("os-release",)


@pytest.mark.parametrize("target", ["/../secret", "../../secret", "../../../../../../secret", "{outside}"])
def test_no_link_leads_out(root: Path, target: str) -> None:
    (root / "etc/link").symlink_to(target.format(outside=root.parent / "secret"))
    tree = TreeSystem(root)
    assert tree.read_text("etc/link").state in (State.ABSENT, State.NOT_RECORDED)
    stat = tree.stat("etc/link").value
    assert stat is not None
    assert stat.kind == "link"


def test_a_folder_link_does_not_lead_out_either(root: Path) -> None:
    (root / "etc/up").symlink_to("../..")
    tree = TreeSystem(root)
    assert tree.list_dir("etc/up").value == ("etc",)
    assert not tree.read_text("etc/up/secret").known
    assert not tree.read_text("../secret").known


def test_absolute_targets_start_at_the_root(root: Path) -> None:
    (root / "opt/rocm-6.2").mkdir(parents=True)
    (root / "opt/rocm").symlink_to("/etc/alternatives/rocm")
    (root / "etc/alternatives").mkdir()
    (root / "etc/alternatives/rocm").symlink_to("/opt/rocm-6.2")
    tree = TreeSystem(root)
    assert tree.real("opt/rocm").value == "opt/rocm-6.2"
    assert tree.link("opt/rocm").value == "/etc/alternatives/rocm"


def test_a_loop_is_unreadable(root: Path) -> None:
    (root / "etc/a").symlink_to("b")
    (root / "etc/b").symlink_to("a")
    assert TreeSystem(root).read_text("etc/a").state is State.UNREADABLE


def test_missing_area_is_not_recorded_missing_file_is_absent(root: Path) -> None:
    tree = TreeSystem(root)
    assert tree.read_text("proc/driver/nvidia/version").state is State.NOT_RECORDED
    assert tree.list_dir("sys/class/kfd").state is State.NOT_RECORDED
    assert tree.read_text("etc/fstab").is_absent
    assert tree.stat("etc/modprobe.d/amd.conf").is_absent


def test_fifo_and_device_are_refused(root: Path) -> None:
    os.mkfifo(root / "etc/fifo")
    assert TreeSystem(root).read_text("etc/fifo").state is State.UNREADABLE


def test_nothing_is_run_or_opened(root: Path) -> None:
    tree = TreeSystem(root)
    answers: list[Reading[Any]] = [
        tree.run(["true"]),
        tree.which("true"),
        tree.nvml(),
        tree.environ(),
        tree.account(),
        tree.limits(),
        tree.try_open("dev/kfd"),
    ]
    assert {answer.state for answer in answers} == {State.NOT_ASKED}


def test_a_root_that_is_no_folder_is_an_input_error(root: Path) -> None:
    with pytest.raises(InputError, match="not a folder"):
        TreeSystem(root / "nothing")
