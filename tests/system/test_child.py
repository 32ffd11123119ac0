"""Jobs in children: each ends by itself, crashes alone, or is killed with all it started."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.system import child, processes
from doctor.system.child import Job, Outcome, Send, run_side_by_side
from doctor.system.live import LiveSystem


def run(*jobs: Job, deadline_s: float = 5.0) -> tuple[dict[str, Outcome], list[tuple[str, Any]]]:
    messages: list[tuple[str, Any]] = []
    outcomes = run_side_by_side(jobs, deadline_s, lambda name, data: messages.append((name, data)))
    return {outcome.name: outcome for outcome in outcomes}, messages


def hang(send: Send) -> None:
    send("before")
    time.sleep(60)


def gone(pid: int) -> bool:
    ends = time.monotonic() + 1
    while processes.is_running(pid) and time.monotonic() < ends:
        time.sleep(0.005)
    return not processes.is_running(pid)


def test_messages_arrive_in_order_and_the_job_is_finished() -> None:
    def count(send: Send) -> None:
        for number in range(3):
            send(number)

    outcomes, messages = run(Job("a", count))
    assert messages == [("a", 0), ("a", 1), ("a", 2)]
    assert (outcomes["a"].state, outcomes["a"].reason) == ("finished", None)


def test_a_large_message_survives_the_pipe() -> None:
    _, messages = run(Job("a", lambda send: send("x" * 3_000_000)))
    assert len(messages[0][1]) == 3_000_000


def test_one_that_hangs_loses_only_what_it_had_not_said() -> None:
    outcomes, messages = run(Job("hangs", hang), Job("works", lambda send: send(1)), deadline_s=0.5)
    assert sorted(messages) == [("hangs", "before"), ("works", 1)]
    assert outcomes["hangs"].state == "timed-out"
    assert outcomes["works"].state == "finished"


def test_all_that_hang_cost_one_deadline() -> None:
    began = time.monotonic()
    outcomes, _ = run(*(Job(str(number), hang) for number in range(12)), deadline_s=0.1)
    assert {outcome.state for outcome in outcomes.values()} == {"timed-out"}
    assert time.monotonic() - began < 1


def test_one_child_for_many_jobs_and_another_where_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_at_first", lambda: 1)
    same = [Job(str(number), lambda send: send(os.getpid())) for number in range(20)]
    _, messages = run(*same)
    assert len(messages) == 20
    assert len({pid for _, pid in messages}) == 1
    outcomes, messages = run(Job("hangs", hang), *same, deadline_s=2.0)
    assert outcomes["hangs"].state == "timed-out"
    assert [outcome.state for name, outcome in outcomes.items() if name != "hangs"] == ["finished"] * 20


def test_the_jobs_behind_a_crash_are_done_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_at_first", lambda: 1)
    dies = Job("dies", lambda send: os.kill(os.getpid(), signal.SIGKILL))
    outcomes, messages = run(dies, Job("works", lambda send: send(1)))
    assert (outcomes["dies"].reason, outcomes["works"].state) == ("killed by SIGKILL", "finished")
    assert messages == [("works", 1)]


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (lambda send: 1 // 0, "ZeroDivisionError: "),
        (lambda send: send(object()), "ValueError: no plain data"),
        (lambda send: send("x" * (9 << 20)), "ValueError: a message of"),
        (lambda send: os.kill(os.getpid(), signal.SIGKILL), "killed by SIGKILL"),
        (lambda send: os._exit(7), "ended with code 7"),
        (lambda send: exit(3), "SystemExit: 3"),
    ],
)
def test_a_crash_says_why_and_is_alone(work: Any, reason: str) -> None:
    outcomes, messages = run(Job("bad", work), Job("good", lambda send: send(1)))
    assert outcomes["bad"].state == "crashed"
    assert reason in (outcomes["bad"].reason or "")
    assert messages == [("good", 1)]


def test_a_command_under_way_dies_with_its_job(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def work(send: Send) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        LiveSystem().run(["/bin/sh", "-c", f"trap '' TERM; echo $$ >{pid}; sleep 60"], deadline_s=60)

    outcomes, _ = run(Job("runs", work), deadline_s=0.15)
    assert outcomes["runs"].state == "timed-out"
    assert outcomes["runs"].stuck == ()
    assert gone(int(pid.read_text()))


def test_what_a_job_prints_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    def shout(send: Send) -> None:
        os.write(1, b"out")
        os.write(2, b"err")

    run(Job("noisy", shout))
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_kills_the_children_and_goes_on() -> None:
    pids: list[int] = []

    def tell(send: Send) -> None:
        send(os.getpid())
        time.sleep(60)

    def interrupt(_name: str, data: Any) -> None:
        pids.append(data)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_side_by_side([Job("a", tell)], 5.0, interrupt)
    assert gone(pids[0])


def test_one_that_cannot_be_killed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_S", 0.02)
    monkeypatch.setattr(processes, "kill_with_descendants", lambda pid: None)
    outcomes, _ = run(Job("stuck", lambda send: time.sleep(30)), deadline_s=1.0)
    (held,) = outcomes["stuck"].stuck
    assert str(held).startswith(f"pid {held.pid} cannot be killed (waits in ")
    os.kill(held.pid, signal.SIGKILL)
    os.waitpid(held.pid, 0)
