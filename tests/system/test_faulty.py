"""The fault injector does what it says, so that a whole check against it proves something."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.facts.origin import State
from doctor.system.child import Job, run_side_by_side
from doctor.system.live import LiveSystem
from tests.system.faulty import FaultySystem, Mode


@pytest.mark.parametrize(
    ("mode", "state"),
    [("absent", State.ABSENT), ("denied", State.DENIED), ("garbage", State.VALUE), ("1GB", State.TOO_LARGE)],
)
def test_every_text_has_the_fault(tmp_path: Path, mode: Mode, state: State) -> None:
    began = time.monotonic()
    assert FaultySystem(LiveSystem(), mode, tmp_path).read_text("proc/version").state is state
    assert time.monotonic() - began < 0.3


def test_cut_gives_half() -> None:
    whole = LiveSystem().read_text("proc/version").value or ""
    assert FaultySystem(LiveSystem(), "cut").read_text("proc/version").value == whole[: len(whole) // 2]


def test_a_machine_that_hangs_does_not_hang_us() -> None:
    faulty = FaultySystem(LiveSystem(), "hangs")
    jobs = [
        Job("read", lambda send: send(faulty.read_text("proc/version").state)),
        Job("run", lambda send: send(faulty.run(["uname"]).state)),
    ]
    outcomes = run_side_by_side(jobs, 0.1, lambda name, data: pytest.fail(f"{name} said {data}"))
    assert [outcome.state for outcome in outcomes] == ["timed-out", "timed-out"]
