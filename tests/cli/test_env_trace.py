"""`doctor env FILE --trace NAME`: each step, the table, JSON, and a process that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli.main import run

SCRIPT = """#!/bin/bash
export NCCL_DEBUG=INFO
source ./env.sh
python3 wait.py
sudo torchrun --nproc_per_node=8 train.py
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "env.sh").write_text("export NCCL_IB_HCA=mlx5_0\n")
    (tmp_path / "train.sh").write_text(SCRIPT)
    return str(tmp_path / "train.sh")


def test_each_step_is_shown_to_the_end(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", script, "--trace", "NCCL_DEBUG"]) == 0
    lines = capsys.readouterr().out.replace(f"{script}:", "").splitlines()
    assert lines == [
        " NCCL_DEBUG in 2 programs: 1 set, 1 not set",
        "4: python3 wait.py",
        "    2: export NCCL_DEBUG=INFO",
        "    -> INFO",
        "5: python train.py (each rank of torchrun)",
        "    2: export NCCL_DEBUG=INFO",
        "    5: sudo resets the environment (unless env_keep in sudoers keeps it)",
        "    -> not set",
    ]


def test_a_sourced_file_is_named_with_its_line(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["env", script, "--trace", "NCCL_IB_HCA"])
    assert "env.sh:1: export NCCL_IB_HCA=mlx5_0" in capsys.readouterr().out


def test_all_of_them_in_a_table(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["env", script, "--trace", "all"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["NCCL_DEBUG", "INFO", "-"] in rows
    assert ["OMP_NUM_THREADS", ".", "1"] in rows


def test_json(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["env", script, "--trace", "NCCL_DEBUG", "--format", "json"])
    made = json.loads(capsys.readouterr().out)
    assert [(way["program"]["line"], way["state"], way["values"]) for way in made["ways"]] == [
        (4, "set", ["INFO"]),
        (5, "not set", []),
    ]
    assert made["ways"][1]["lost"]["line"] == 5


def test_a_process_that_was_started_otherwise(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wait.py").write_text("print(flush=True)\ninput()\n")
    argv = [sys.executable, str(tmp_path / "wait.py")]
    with subprocess.Popen(
        argv, env={**os.environ, "NCCL_DEBUG": "WARN"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        run(["env", script, "--trace", "NCCL_DEBUG", "--pid", str(process.pid)])
        process.kill()
    out = capsys.readouterr().out
    assert f"process {process.pid}: NCCL_DEBUG=WARN" in out
    assert f"differs from {script}:4: INFO." in out


@pytest.mark.parametrize("argv", [["--trace", "A B"], ["--trace", "A", "--format", "sarif"]])
def test_wrong_usage(script: str, argv: list[str]) -> None:
    assert run(["env", script, *argv]) == 2


def test_a_file_is_needed() -> None:
    assert run(["env", "--trace", "NCCL_DEBUG"]) == 2


def test_a_secret_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.sh").write_text(
        "export HF_TOKEN=hf_abcdefghij0123456789\nsudo -E python t.py\ndocker run img python t.py\n"
    )
    for more in ([], ["--format", "json"]):
        for name in ("HF_TOKEN", "all"):
            run(["env", str(tmp_path / "a.sh"), "--trace", name, *more])
    run(["env", str(tmp_path / "a.sh"), "--format", "json"])
    assert "hf_abcdefghij" not in capsys.readouterr().out
