"""A bundle of a machine on which everything goes wrong, and of a disk that takes nothing: a usable bundle or a clean
failure, and never half of one under its name.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

from doctor.bundle.open import open_bundle
from doctor.bundle.pack import partial, write
from doctor.bundle.record import make
from doctor.engine.run import Options, examine
from doctor.errors import InputError
from doctor.system.live import LiveSystem
from tests.paths import CAPTURES
from tests.system.faulty import FaultySystem, Mode

NOW = "2026-11-21T12:00:00Z"
OF_A_CAPTURE = (
    "import doctor.system.live as live; from pathlib import Path; from doctor.bundle.open import open_bundle; "
    f"live.LiveSystem = open_bundle(Path('{CAPTURES / 'bundle-1.tar.gz'}')).system; "
    "from doctor.cli.main import main; main()"
)
"""The program, for which a small capture is this machine: where the archive goes is tested, not what is in it."""


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_machine_at_fault_gives_a_bundle_that_opens(mode: Mode, tmp_path: Path) -> None:
    began = time.monotonic()
    made = make(FaultySystem(LiveSystem(), mode, tmp_path), created=NOW, options=Options(total_s=1.0))
    assert time.monotonic() - began < 30.0
    write(tmp_path / "b.tar.gz", made.files)
    bundle = open_bundle(tmp_path / "b.tar.gz")
    assert bundle.report() is not None
    assert examine(bundle.system(), Options(total_s=5.0)).status != "ok"
    assert bundle.manifest["left_out"]


def small_files(limit: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-B", "-c", OF_A_CAPTURE, "bundle", "-o", "b.tar.gz"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: small_files(4096),
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "b.tar.gz: can't be written: File too large" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_filesystem_that_is_full(tmp_path: Path) -> None:
    run = f"{sys.executable} -c {shlex.quote(OF_A_CAPTURE)} bundle -o b.tar.gz"
    script = f"mount -t tmpfs -o size=4k none {tmp_path} && cd {tmp_path} && {run}; echo rc=$?; ls -A {tmp_path}"
    ran = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    if "rc=" not in ran.stdout or "mount" in ran.stderr:
        pytest.skip("no user namespace here")
    assert ran.stdout.split() == ["rc=2"]
    assert "No space left on device" in ran.stderr


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/self/b.tar.gz")
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        target = tmp_path / "closed/b.tar.gz"
    with pytest.raises(InputError, match="can't be written") as told:
        write(target, {"a": b"b"})
    assert "\n" not in str(told.value)


def started(folder: Path) -> subprocess.Popen[str]:
    """A bundle that stops where its archive is half written."""
    stop = (
        "import os, sys, time\n"
        "from doctor.bundle import pack\n"
        "def halt(descriptor):\n    print('half', flush=True)\n    time.sleep(60)\n"
        "pack.os.fsync = halt\n"
        "sys.argv[1:] = ['bundle', '-o', 'b.tar.gz']\n" + OF_A_CAPTURE
    )
    running = subprocess.Popen([sys.executable, "-c", stop], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "half\n"
    return running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ctrl_c_and_sigterm_leave_nothing(number: signal.Signals, tmp_path: Path) -> None:
    running = started(tmp_path)
    running.send_signal(number)
    running.communicate(timeout=10)
    assert running.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_killed_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "b.tar.gz").write_bytes(b"an older one")
    running = started(tmp_path)
    running.kill()
    running.communicate(timeout=10)
    left = partial(tmp_path / "b.tar.gz")
    assert sorted(tmp_path.iterdir()) == sorted([left, tmp_path / "b.tar.gz"])
    assert (tmp_path / "b.tar.gz").read_bytes() == b"an older one"
    write(tmp_path / "b.tar.gz", {"manifest.json": b"{}"})
    assert [p.name for p in tmp_path.iterdir()] == ["b.tar.gz"]


def test_what_lies_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("keep")
    partial(tmp_path / "b.tar.gz").symlink_to(tmp_path / "victim")
    write(tmp_path / "b.tar.gz", {"manifest.json": b"{}"})
    assert (tmp_path / "victim").read_text() == "keep"
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="not a regular file"):
        write(tmp_path / "link", {"manifest.json": b"{}"})
    assert (tmp_path / "victim").read_text() == "keep"


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", OF_A_CAPTURE, "bundle", "--dry-run"]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "report.html" in ran.stdout
    assert "capture.json" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_since_include_pid_and_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.bundle.extras.TEXT_LIMIT", 1 << 18)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("gfx942 and HF_TOKEN=hf_" + "a1B" * 12 + "\n")
    (tmp_path / "notes/blob").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "large.log").write_text("".join(f"line {n}\n" for n in range(40_000)))
    made = make(
        LiveSystem(), created=NOW, since="2 hours ago", pid=os.getpid(), options=Options(probes=()),
        include=[str(tmp_path / "notes"), str(tmp_path / "large.log"), str(tmp_path / "none")],
    )  # fmt: skip
    names = [p.name for p in made.parts]
    told = next(p for p in made.parts if p.name.endswith("notes_a.txt.txt"))
    assert b"gfx942 and HF_TOKEN=[secret]" in told.content
    assert any(name.startswith("extra/process/") and "cmdline" in name for name in names)
    large = next(p for p in made.parts if p.name.endswith("large.log.txt"))
    assert large.cut
    assert large.content.startswith(b"line ")
    assert large.content.endswith(b"line 39999\n")
    reasons = [row.why for row in made.left_out]
    assert "no text" in reasons
    assert "ENOENT" in reasons
    asked = [p.origin for p in made.parts] + [row.origin for row in made.left_out]
    assert any("--since=2 hours ago" in origin for origin in asked)
    include = [str(tmp_path / "large.log")]
    small = make(LiveSystem(), created=NOW, include=include, max_size=1 << 17, options=Options(probes=()))
    assert any("size budget" in row.why for row in small.left_out)
    assert sum(len(p.content) for p in small.parts if not p.required) < 1 << 17
    assert json.loads(small.files["report.json"])["schema"] == "doctor.report/2"
