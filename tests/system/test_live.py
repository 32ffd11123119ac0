"""The live machine: what it reads, what it refuses, and that nothing makes it wait."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from doctor.facts.origin import State
from doctor.system import commands, files
from doctor.system.deadline import TimedOut, within
from doctor.system.live import LiveSystem

LIVE = LiveSystem(read_deadline_s=0.05, run_deadline_s=2.0)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_reads_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "version").write_bytes(b"575.57.08\n\xff\0\0")
    reading = LIVE.read_text(f"{tmp_path}/version")
    assert reading.value == "575.57.08\n\ufffd"
    assert reading.source == f"file:{tmp_path}/version"


def test_reads_proc_and_sysfs_files_whose_size_says_nothing() -> None:
    assert "Linux" in (LIVE.read_text("proc/version").value or "")


def test_reads_a_range(tmp_path: Path) -> None:
    (tmp_path / "elf").write_bytes(b"0123456789")
    assert LIVE.read_bytes(f"{tmp_path}/elf", offset=4, length=3).value == b"456"
    assert LIVE.read_bytes(f"{tmp_path}/elf", offset=8, length=9).value == b"89"


def test_too_large_is_said_without_reading(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        os.truncate(file.fileno(), 1 << 30)
    began = time.monotonic()
    assert LIVE.read_text(f"{tmp_path}/huge").state is State.TOO_LARGE
    assert time.monotonic() - began < 0.2
    (tmp_path / "small").write_text("x" * 11)
    assert LIVE.read_text(f"{tmp_path}/small", limit=10).state is State.TOO_LARGE
    assert LIVE.read_text(f"{tmp_path}/small", limit=11).known


@pytest.mark.parametrize("missing", ["nothing", "nothing/below", "file/below"])
def test_absent_is_what_could_have_been_seen(tmp_path: Path, missing: str) -> None:
    (tmp_path / "file").touch()
    assert LIVE.read_text(f"{tmp_path}/{missing}").is_absent
    assert LIVE.list_dir(f"{tmp_path}/{missing}").is_absent
    assert LIVE.stat(f"{tmp_path}/{missing}").is_absent
    assert LIVE.real(f"{tmp_path}/{missing}").is_absent


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_denied_names_the_errno(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    reading = LIVE.read_text(f"{tmp_path}/closed/file")
    assert (reading.state, reading.detail) == (State.DENIED, "EACCES")


def test_denied_and_failed_are_kept_apart() -> None:
    assert files.state_of(PermissionError(13, "")) is State.DENIED
    assert files.state_of(PermissionError(1, "")) is State.DENIED
    assert files.state_of(OSError(5, "")) is State.FAILED
    assert files.state_of(OSError(40, "")) is State.UNREADABLE


def test_fifo_socket_device_and_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for path in (f"{tmp_path}/fifo", "dev/zero", str(tmp_path)):
            assert LIVE.read_text(path).state is State.UNREADABLE, path
        assert not LIVE.read_text(f"{tmp_path}/socket").known


def test_a_blocking_read_is_interrupted() -> None:
    reading, writing = os.pipe()
    try:
        answer = files.attempt("file:/pipe", 0.05, lambda: os.read(reading, 1))
        assert (answer.state, answer.detail) == (State.TIMED_OUT, "no answer within 0.05 s")
    finally:
        os.close(reading)
        os.close(writing)


def test_an_open_that_blocks_is_interrupted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(TimedOut):
        within(0.05, lambda: os.open(tmp_path / "fifo", os.O_RDONLY))


def test_a_deadline_holds_in_another_thread_too() -> None:
    seen: list[State] = []
    done = threading.Event()
    thread = threading.Thread(target=lambda: seen.append(files.attempt("x", 0.03, lambda: done.wait(5)).state))
    thread.start()
    thread.join()
    done.set()
    assert seen == [State.TIMED_OUT]


def test_a_deadline_inside_a_deadline_leaves_the_outer_one() -> None:
    def work() -> None:
        assert within(1.0, lambda: 7) == 7
        time.sleep(2)

    with pytest.raises(TimedOut):
        within(0.05, work)


def test_folders_links_and_nodes(tmp_path: Path) -> None:
    (tmp_path / "b").touch()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "lost").symlink_to("nowhere")
    assert LIVE.list_dir(str(tmp_path)).value == ("a", "b", "lost")
    assert LIVE.list_dir(f"{tmp_path}/b").state is State.UNREADABLE
    assert LIVE.link(f"{tmp_path}/a").value == "b"
    assert LIVE.link(f"{tmp_path}/b").state is State.UNREADABLE
    assert LIVE.real(f"{tmp_path}/a").value == str(tmp_path.resolve() / "b")[1:]
    lost = LIVE.stat(f"{tmp_path}/lost").value
    assert lost is not None
    assert lost.kind == "link"
    null = LIVE.stat("dev/null").value
    assert null is not None
    assert (null.kind, null.major, null.minor) == ("char", 1, 3)


def test_a_nul_in_a_path_is_unreadable() -> None:
    assert LIVE.read_text("proc/\0version").state is State.UNREADABLE


def test_device_nodes_are_tried_and_nothing_else(tmp_path: Path) -> None:
    assert LIVE.try_open("dev/null").value == "ok"
    assert LIVE.try_open("dev/nonesuch").is_absent
    os.mkfifo(tmp_path / "fifo")
    assert LIVE.try_open(f"{tmp_path}/fifo").state is State.UNREADABLE


def test_account_limits_and_environment_are_plain() -> None:
    live = LiveSystem({"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "BAD": "\udcff"})
    assert live.environ().value == {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "BAD": "?"}
    assert (live.account().value or {})["uid"] == os.geteuid()
    assert set(live.limits().value or {}) == {"as", "memlock", "nofile", "nproc", "stack"}


def test_without_nvml_no_child_is_started(tmp_path: Path) -> None:
    live = LiveSystem(library_folders=[str(tmp_path)], loader_cache=f"{tmp_path}/cache")
    assert live.nvml().is_absent


@as_root
def test_root_refuses_what_others_could_have_put_there(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    os.chown(tool, 1234, 0)
    reading = LIVE.run([str(tool)])
    assert reading.state is State.DENIED
    assert "user 1234" in (reading.detail or "")


@as_root
def test_root_judges_every_link_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr/bin/env")
    tmp_path.chmod(0o777)
    assert "written by others" in (commands.distrust(str(tmp_path / "link")) or "")
    assert commands.distrust("/usr/bin/env") is None
