"""A line a change, and none for a report that is just being written, for a measurement or for what is not known."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.fleet.answers import Answer, of_folder, signature
from doctor.fleet.tally import Tally
from doctor.fleet.verdict import Verdict, judged
from doctor.fleet.watch import Watch
from tests.fleet.test_verdict import found, node

NOW = 1_800_000_000.0
DAY = 86400.0


def seen(*last: dict[str, Any] | str, good: int = 8) -> Verdict:
    """Good nodes, and what the ones after them answered; a text is why one gave no report."""
    tally = Tally(NOW)
    for number, report in enumerate([*[node()] * good, *last], 1):
        name = f"n{number:02}"
        tally.add(Answer(name, None, report) if isinstance(report, str) else Answer(name, report))
    return judged(tally)


def lines(watch: Watch, verdict: Verdict) -> list[str]:
    return [change.line() for change in watch.changes(verdict, NOW, DAY)]


@pytest.fixture
def watch() -> Watch:
    made = Watch()
    assert lines(made, seen(node())) == ["joined: n[01-09]"]
    return made


def test_what_is_the_same_is_no_line(watch: Watch) -> None:
    assert lines(watch, seen(node())) == []


def test_an_error_is_new_once_and_then_gone(watch: Watch) -> None:
    bad = seen(found("nvidia-xid-fatal", scope="hardware", action="drain"))
    assert lines(watch, bad) == ["new error nvidia-xid-fatal (hardware, drain): n09"]
    assert lines(watch, bad) == []
    assert lines(watch, seen(node())) == ["gone error nvidia-xid-fatal: n09"]


def test_an_odd_node_is_named_with_the_value_elsewhere(watch: Watch) -> None:
    fact = "new odd driver: nvidia_driver.version = 570.10, expected 575.57.08 (driver, reconfigure): n09"
    assert lines(watch, seen(node(nvidia_driver__version="570.10"))) == [fact]
    assert lines(watch, seen(node(nvidia_driver__version="570.20"))) == [fact.replace("570.10", "570.20")]


def test_what_is_not_known_any_more_is_no_repair(watch: Watch) -> None:
    lines(watch, seen(node(nvidia_driver__version="570.10")))
    assert lines(watch, seen(node(nvidia_driver__version=None))) == []
    assert lines(watch, seen(node())) == ["gone odd driver: nvidia_driver.version: n09"]


def test_a_flag_that_nobody_else_sets_is_gone_when_it_is_unset(watch: Watch) -> None:
    (new,) = lines(watch, seen(node(environment={"NCCL_DEBUG": "WARN", "A": "1"})))
    assert new.startswith("new odd flags: A = 1")
    assert lines(watch, seen(node())) == ["gone odd flags: A: n09"]


@pytest.mark.parametrize("away", ["it wrote nothing", None])
def test_a_report_that_is_missing_once_may_be_in_the_making(watch: Watch, away: str | None) -> None:
    silent = seen(*([away] if away else []))
    assert lines(watch, silent) == []
    assert lines(watch, seen(node())) == []
    assert lines(watch, silent) == []
    assert lines(watch, silent) == ["new silent it wrote nothing: n09" if away else "left: n09"]
    assert lines(watch, silent) == []
    assert lines(watch, seen(node()))[0] == "joined: n09"


def test_an_error_is_not_gone_with_its_node(watch: Watch) -> None:
    lines(watch, seen(found("gpu-lost")))
    assert lines(watch, seen()) + lines(watch, seen()) == ["left: n09"]


def test_a_measurement_that_is_slow_twice_is_one_line(watch: Watch) -> None:
    def bench(value: float) -> dict[str, Any]:
        return node(bench=[{"key": "gemm", "unit": "TFLOP/s", "outcome": "ran", "value": {"p50": value}}])

    rest = [bench(610.0)] * 8
    assert len(lines(watch, seen(*rest, bench(420.0), good=0))) == 1
    assert lines(watch, seen(*rest, bench(425.0), good=0)) == []


def test_an_update_of_all_nodes_is_one_line(watch: Watch) -> None:
    new = node(nvidia_driver__version="580.65.06")
    assert lines(watch, seen(*[new] * 9, good=0)) == [
        "changed driver: nvidia_driver.version: 575.57.08 -> 580.65.06: H100"
    ]


def test_a_node_that_reports_no_more_is_late(watch: Watch) -> None:
    old = seen({**node(), "created": "2027-01-14T08:00:00Z"})  # two hours less than a day before
    assert lines(watch, old) == []
    found_lines = [change.line() for change in watch.changes(old, NOW + 7200, DAY)]
    assert found_lines == ["new late no new report for 1440 minutes: n09"]


def test_memory_does_not_grow_with_the_looks() -> None:
    watch = Watch()
    verdicts = [seen(node(nvidia_driver__version=f"570.{n % 2}"), "it wrote nothing") for n in range(2)]
    lines(watch, verdicts[0])
    tracemalloc.start()
    for number in range(300):
        lines(watch, verdicts[number % 2])
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used < 1 << 18


def test_a_folder_that_was_written_again_has_another_signature(tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text(json.dumps(node()))
    (tmp_path / ".hidden.json").write_text("")
    first = signature(tmp_path)
    assert signature(tmp_path) == first
    (tmp_path / ".hidden.json").write_text("x")
    assert signature(tmp_path) == first
    (tmp_path / "n1.json").write_text(json.dumps(node(gpus=[])))
    assert signature(tmp_path) != first
    assert [answer.node for answer in of_folder(tmp_path)] == ["n1"]


def test_a_folder_that_is_not_there_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "watch", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_writes_lines_until_ctrl_c(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    for number in range(1, 5):
        (folder / f"n{number}.json").write_text(json.dumps(node()))
    argv = [sys.executable, "-m", "doctor", "fleet", "watch", str(folder), "--every", "1", "--format", "jsonl"]
    watching = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert watching.stdout
        assert json.loads(watching.stdout.readline())["of"] == "n[1-4]"
        beside = tmp_path / "n3.json"
        beside.write_text(json.dumps(found("gpu-lost", scope="hardware", action="drain")))
        beside.replace(folder / "n3.json")
        row = json.loads(watching.stdout.readline())
        assert (row["sort"], row["state"], row["what"], row["of"]) == (
            "new",
            "error",
            "gpu-lost (hardware, drain)",
            "n3",
        )
    finally:
        watching.send_signal(signal.SIGINT)
        _, error = watching.communicate(timeout=20)
    assert (watching.returncode, error) == (130, "")
