"""Our configuration for node-problem-detector by the rules of its custom plugin monitor, and in the real daemon.

The rules are those of `pkg/custompluginmonitor` of v1.34: unknown keys are dropped in silence, so that a misspelt one
is found here only; everything else ends the daemon.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "contrib/node-problem-detector"
KEYS = {
    "": {"plugin", "pluginConfig", "source", "conditions", "rules", "metricsReporting"},
    "pluginConfig": {
        "invoke_interval", "timeout", "max_output_length", "concurrency", "skip_initial_status",
        "enable_message_change_based_condition_update",
    },
    "conditions": {"type", "reason", "message"},
    "rules": {"type", "condition", "reason", "path", "args", "timeout"},
}  # fmt: skip


def monitor() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "doctor-monitor.json").read_text())
    return found


def seconds(duration: str) -> float:
    match = re.fullmatch(r"([0-9.]+)(ms|s|m|h)", duration)
    assert match, duration
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2]]


def test_each_key_is_one_that_the_detector_reads() -> None:
    told = monitor()
    assert told.keys() <= KEYS[""]
    assert told["pluginConfig"].keys() <= KEYS["pluginConfig"]
    for part in ("conditions", "rules"):
        assert all(row.keys() <= KEYS[part] for row in told[part])


def test_what_would_end_the_detector_is_not_there() -> None:
    told = monitor()
    assert told["plugin"] == "custom"
    limit = seconds(told["pluginConfig"]["timeout"])
    assert all(seconds(rule["timeout"]) <= limit for rule in told["rules"])
    assert seconds(told["pluginConfig"]["invoke_interval"]) > limit
    preset = {condition["type"] for condition in told["conditions"]}
    assert {rule["condition"] for rule in told["rules"] if rule["type"] == "permanent"} <= preset
    assert {rule["type"] for rule in told["rules"]} <= {"permanent", "temporary"}


def test_there_is_a_condition_for_each_scope_of_a_node() -> None:
    told = monitor()
    assert [rule["args"] for rule in told["rules"]] == [["hardware"], ["firmware"], ["driver"], ["host"]]
    assert [rule["condition"] for rule in told["rules"]] == [condition["type"] for condition in told["conditions"]]


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node-problem-detector"), reason="node-problem-detector is not in PATH")
def test_the_daemon_raises_the_condition_and_takes_it_back(tmp_path: Path) -> None:
    """Good, broken, not known, good again: as its own metrics tell it."""
    said = tmp_path / "said"
    doctor = tmp_path / "doctor"
    doctor.write_text(f"#!/bin/sh\n. {said}\n")
    doctor.chmod(0o755)
    told = monitor()
    told["pluginConfig"]["invoke_interval"] = "1s"
    told["rules"] = [{**rule, "path": str(FOLDER / "doctor.sh")} for rule in told["rules"]]
    (tmp_path / "monitor.json").write_text(json.dumps(told))
    port = free_port()
    argv = [
        shutil.which("node-problem-detector") or "", "--enable-k8s-exporter=false",
        f"--config.custom-plugin-monitor={tmp_path}/monitor.json", "--port=0", f"--prometheus-port={port}", "--v=3",
    ]  # fmt: skip

    def says(code: int, line: str) -> None:
        following = tmp_path / "next"
        following.write_text(f"echo '{line}'; exit {code}\n")
        following.replace(said)

    def gauge() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            rows: list[str] = answer.read().decode().splitlines()
        (row,) = [r for r in rows if r.startswith("problem_gauge") and "GPUHardwareIsBroken" in r]
        return row.endswith(" 1")

    log = tmp_path / "log"
    says(0, "doctor: ok, 8 GPUs")
    with log.open("wb") as held:
        daemon = subprocess.Popen(argv, env={"DOCTOR": str(doctor), "PATH": "/usr/bin:/bin"}, stdout=held, stderr=held)
    try:
        until(lambda: "ExitStatus:0 Message:doctor: ok, 8 GPUs}" in log.read_text())
        assert not gauge()
        line = "doctor: nvidia-gpu-off-bus: " + "x" * 52
        says(1, line)
        until(gauge)
        assert f"ExitStatus:1 Message:{line}}}" in log.read_text()
        says(3, "something of its own")
        until(lambda: "ExitStatus:2 Message:doctor: could not check}" in log.read_text())
        until(lambda: not gauge())
        says(0, "doctor: ok, 8 GPUs")
        until(lambda: log.read_text().count("is now: False") > 0)
    finally:
        daemon.terminate()
        daemon.wait(timeout=20)


def until(holds: Callable[[], bool], within_s: float = 20) -> None:
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)
