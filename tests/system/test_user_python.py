"""Real children: one that hangs, dies, floods, takes all memory or can't start ends in words, never in an exception."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.system import processes, user_python
from doctor.system.user_python import Bounds, Child, Ended, environment, trusted

HEAD = "import json, os, sys, time\nout = os.fdopen(int(sys.argv[2]), 'w')\nrequest = json.loads(sys.argv[1])\n"
SEND = "def send(**e):\n    out.write(json.dumps(e) + '\\n'); out.flush()\n"


EASY = Bounds(20, 20)


def run(tmp_path: Path, body: str, bounds: Bounds = EASY, **request: Any) -> tuple[list[dict[str, Any]], Ended]:
    script = tmp_path / "script.py"
    script.write_text(HEAD + SEND + body)
    child = Child(sys.executable, script, request, dict(os.environ), bounds)
    return list(child.events()), child.ended


def test_what_it_sends_arrives_apart_from_what_it_prints(tmp_path: Path) -> None:
    events, ended = run(tmp_path, "print('noise'); os.write(2, b'more'); send(n=request['n'])", n=7)
    assert events == [{"n": 7}]
    assert (ended.state, ended.detail) == ("finished", None)
    assert "noise" in ended.printed
    assert "more" in ended.printed


def test_one_that_is_silent_is_ended(tmp_path: Path) -> None:
    events, ended = run(tmp_path, "send(n=1)\ntime.sleep(600)", Bounds(60, 0.5))
    assert events == [{"n": 1}]
    assert (ended.state, ended.detail) == ("hung", "nothing came for 0.5 s")


def test_one_that_never_ends_is_ended_however_much_it_says(tmp_path: Path) -> None:
    _, ended = run(tmp_path, "while True:\n    send(n=1); time.sleep(0.01)", Bounds(0.8, 60))
    assert (ended.state, ended.detail) == ("out-of-time", "did not end within 0.8 s")


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    body = "import subprocess\np = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    body += "send(pid=p.pid)\ntime.sleep(600)"
    events, _ = run(tmp_path, body, Bounds(60, 1.0))
    for _ in range(500):  # the kernel takes its time to end what was killed
        if not processes.is_running(events[0]["pid"]):
            return
        time.sleep(0.01)
    pytest.fail("the process that it started is still running")


def test_a_fault_names_the_signal(tmp_path: Path) -> None:
    events, ended = run(tmp_path, "send(n=1)\nimport ctypes\nctypes.string_at(0)")
    assert events == [{"n": 1}]
    assert (ended.state, ended.detail) == ("crashed", "died of SIGSEGV")
    assert "Fatal Python error" in ended.printed


def test_one_that_the_kernel_killed(tmp_path: Path) -> None:
    _, ended = run(tmp_path, "os.kill(os.getpid(), 9)")
    assert ended.detail == "killed (the kernel does that when memory runs out)"


def test_an_error_gives_its_last_line(tmp_path: Path) -> None:
    _, ended = run(tmp_path, "raise RuntimeError('no \\x1b[31mkernel image')")
    assert (ended.state, ended.detail) == ("crashed", "exited with 1: RuntimeError: no [31mkernel image")


def test_one_that_takes_all_memory_is_ended_before_the_machine_is(tmp_path: Path) -> None:
    body = "held = []\nwhile True:\n    held.append(bytearray(b'x' * (8 << 20))); time.sleep(0.01)"
    _, ended = run(tmp_path, body, Bounds(60, 60, 200 << 20))
    assert ended.state == "out-of-memory"
    assert ended.detail is not None
    assert ended.detail.endswith("200 is allowed")


def test_lines_that_are_no_objects_are_passed_over(tmp_path: Path) -> None:
    body = "out.write('not json\\n[1]\\n' + '[' * 100000 + '\\n'); send(n=1); out.write('x' * (3 << 20)); out.flush()"
    events, ended = run(tmp_path, body)
    assert events == [{"n": 1}]
    assert ended.state == "finished"


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    child = Child(str(tmp_path / "python"), tmp_path / "script.py", {}, {}, Bounds(5, 5))
    assert list(child.events()) == []
    assert child.ended.state == "not-started"
    assert child.ended.detail == f"{tmp_path}/python: ENOENT"


def test_one_whose_reader_goes_away_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(HEAD + SEND + "send(pid=os.getpid())\ntime.sleep(600)")
    events = Child(sys.executable, script, {}, dict(os.environ), Bounds(60, 60)).events()
    pid = next(events)["pid"]
    events.close()  # type: ignore[attr-defined]
    assert not Path(f"/proc/{pid}").exists()


def test_root_runs_nothing_that_others_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.system.user_python.os.geteuid", lambda: 0)
    monkeypatch.setattr(user_python, "distrust", lambda path: "others can write it" if "venv" in path else None)
    trusted("/usr/bin/python3", "/usr/lib/torch")
    with pytest.raises(InputError, match="run the doctor as the user"):
        trusted("/usr/bin/python3", "/home/u/venv/torch")


def test_as_root_nothing_that_loads_code_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.system.user_python.os.geteuid", lambda: 0)
    monkeypatch.setattr(user_python, "distrust", lambda path: None if path.startswith("/opt/rocm") else "others")
    mine = {"LD_PRELOAD": "/tmp/x.so", "PYTHONPATH": "/tmp", "LD_LIBRARY_PATH": "/opt/rocm/lib", "HSA_X": "1"}
    assert environment(mine, {"MKL_VERBOSE": "1"}, ("HSA_X",)) == {
        "LD_LIBRARY_PATH": "/opt/rocm/lib",
        "MKL_VERBOSE": "1",
    }
    assert user_python.withheld({**mine, "LD_LIBRARY_PATH": "/tmp"}) == ("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH")


def test_as_a_user_the_environment_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.system.user_python.os.geteuid", lambda: 1000)
    assert environment({"LD_PRELOAD": "a", "PYTHONPATH": "b"}, {}) == {"LD_PRELOAD": "a", "PYTHONPATH": "b"}
    assert user_python.withheld({"LD_PRELOAD": "a"}) == ()
