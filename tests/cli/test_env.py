"""`doctor env`: a file's findings with their lines, advice, JSON, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.facts.snapshot import Snapshot

BATCH = """#!/bin/bash
#SBATCH --gpus-per-node=8
export NCCL_P2P_DISABLE=true
NCCL_IB_GID_INDEX=3
export HF_TOKEN=hf_abcdefghijklmnop
srun torchrun train.py
"""
MANIFEST = """apiVersion: v1
kind: Pod
spec:
  containers:
  - env:
    - name: HSA_XNACK
      value: 1
"""
FOR = ["--gpu", "MI300X", "--rocm", "7.2"]


@pytest.fixture
def batch(tmp_path: Path) -> str:
    path = tmp_path / "train.sbatch"
    path.write_text(BATCH)
    return str(path)


def test_findings_of_a_file_carry_its_lines(batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", batch, *FOR]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{batch}:3:8: error: NCCL_P2P_DISABLE=true reads as 0 (nccl)." in shown
    assert f"{batch}:4:1: info: NCCL_IB_GID_INDEX=3 is a variable of the shell only" in shown
    assert f"{batch}:5:8: warning: HF_TOKEN looks like a secret" in shown
    assert "abcdefghijklmnop" not in shown


def test_json_names_each_variable_and_what_is_read(batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", batch, *FOR, "--format", "json", "--fail-on", "never"]) == 0
    text = capsys.readouterr().out
    (one,) = json.loads(text)["environments"]
    rows: dict[str, Any] = {row["name"]: row for row in one["variables"]}
    assert (rows["NCCL_P2P_DISABLE"]["reads_as"], rows["NCCL_P2P_DISABLE"]["state"]) == (0, "misread")
    assert rows["NCCL_P2P_DISABLE"]["where"] == f"{batch}:3:8"
    assert "abcdefghijklmnop" not in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_file_that_is_cut_is_no_clean_file(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "big.env"
    path.write_text("A=1\n" * 4000 + "NCCL_P2P_DISABLE=true\n")
    assert run(["env", str(path), *FOR, "--format", form]) == 0
    shown = capsys.readouterr().out
    notes = json.loads(shown)["environments"][0]["notes"] if form == "json" else [" ".join(shown.split())]
    assert f"{path}:4001: not read from this line on" in notes[0]


def test_of_several_files_the_others_are_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text("a: [")
    (tmp_path / "binary").write_bytes(b"\x7fELF\x02\0\0NCCL_P2P_DISABLE=true\n")
    (tmp_path / "good.env").write_text("NCCL_P2P_DISABLE=true\n")
    assert run(["env", *(str(tmp_path / name) for name in ("bad.yaml", "none", "binary", "good.env")), *FOR]) == 2
    said = capsys.readouterr()
    assert [line.partition(": ")[2].rpartition("/")[2][:18] for line in said.err.splitlines()] == [
        "bad.yaml: no YAML:",
        "none: No such file",
        "binary: not a text",
    ]
    assert "NCCL_P2P_DISABLE=true reads as 0" in " ".join(said.out.split())


def test_what_proc_tells_of_a_process_is_read_variable_by_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "environ").write_bytes(b"PATH=/bin\0BASH_FUNC_x%%=() { a\n}\0NCCL_P2P_DISABLE=true\0")
    assert run(["env", str(tmp_path / "environ"), *FOR]) == 1
    assert "environ:3:1: error: NCCL_P2P_DISABLE=true reads as 0" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("gpu", ["MI300X", "mi300x", "8xmi300x", "AMD Instinct mi300x"])
def test_a_gpu_s_name_has_no_case(gpu: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "--recommend", "--workload", "serve", "--gpu", gpu, "--rocm", "7.2"]) == 0
    assert "export VLLM_ROCM_USE_AITER=1" in capsys.readouterr().out


def test_kubernetes_refuses_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(MANIFEST)
    assert run(["env", str(path), *FOR]) == 1
    assert f"{path}:7:7: error: HSA_XNACK=1 is not a string in YAML" in " ".join(capsys.readouterr().out.split())


def test_a_clean_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "serve.env"
    path.write_text("HIP_FORCE_DEV_KERNARG=1\nVLLM_ROCM_USE_AITER=1\n")
    assert run(["env", str(path), *FOR, "--workload", "serve", "--fail-on", "warning"]) == 0
    assert "no problem found" in capsys.readouterr().out


def test_advice_is_lines_for_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "--recommend", "--workload", "serve", *FOR]) == 0
    shown = capsys.readouterr().out
    assert "export VLLM_ROCM_USE_AITER=1" in shown
    assert all(line.startswith(("#", "export ")) for line in shown.splitlines())


def test_how_many_gpus_there_are_is_told_or_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    several = "export NCCL_MIN_NCHANNELS=112"
    run(["env", "--recommend", "--workload", "serve", *FOR])
    assert f"# For more than one GPU: {several.removeprefix('export ')}" in capsys.readouterr().out
    run(["env", "--recommend", "--workload", "serve", "--gpu", "8xMI300X"])
    assert several in capsys.readouterr().out


def test_advice_without_a_guide(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "--recommend", "--workload", "train", "--gpu", "A100"]) == 0
    assert "Set none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "err"),
    [
        (["--workload", "play"], "choose from train, serve, desktop"),
        (["--gpu", "potato", "--recommend"], "unknown --gpu 'potato'"),
        (["--pid", "1", "x.env"], "either --pid or files"),
        (["--pid", "x"], "pass a number"),
        (["/nowhere", *FOR], "/nowhere"),
        (["--recommend", "--pid", "1"], "takes no files"),
    ],
)
def test_wrong_usage(args: list[str], err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", *args]) == 2
    assert err in capsys.readouterr().err


def test_another_process(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own environment, not this one's."""
    env = {"PATH": os.environ["PATH"], "NCCL_P2P_DISABLE": "yes"}
    with subprocess.Popen([sys.executable, "-c", "input()"], env=env, stdin=subprocess.PIPE) as process:
        try:
            assert run(["env", "--pid", str(process.pid)]) == 1
        finally:
            process.communicate(b"\n")
    shown = capsys.readouterr().out
    assert f"process {process.pid}" in shown
    assert "NCCL_P2P_DISABLE=yes reads as 0" in shown


def test_a_superchip_is_known_by_the_name_that_its_driver_prints(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("GB200", "NVIDIA GB200", "HGX B200", "DGX Spark"):
        assert run(["env", "--recommend", "--workload", "train", "--gpu", name, "--torch", "2.10"]) == 0
    capsys.readouterr()
    assert run(["env", "--recommend", "--workload", "train", "--gpu", "FOO9000"]) == 2


def test_a_context_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.sh"
    path.write_text("export TORCH_NCCL_AVOID_RECORD_STREAMS=0\nexport OMP_NUM_THREADS=4\n")
    assert run(["env", "--context", "-"]) == 0
    assert {"fsdp", "megatron_tp"} <= set(capsys.readouterr().out.split())
    assert run(["env", str(path), "--context", "fsdp,!moe"]) == 0
    assert run(["env", str(path), "--context", "fsdp,no_such_word"]) == 2
    assert "no_such_word" in capsys.readouterr().err


def test_the_files_that_a_file_names_are_read_from_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "compose.yaml").write_text("services:\n  a:\n    env_file: [gpu.env, gone.env]\n")
    (tmp_path / "gpu.env").write_text("HF_TOKEN=hf_abcdefghijklmnop\nNCCL_P2P_DISABLE=true\n")
    assert run(["env", str(tmp_path / "compose.yaml")]) == 1
    shown = capsys.readouterr().out
    assert f"{tmp_path / 'gpu.env'}:2" in "".join(shown.split())
    assert "abcdefghijklmnop" not in shown


@pytest.mark.parametrize(
    "words",
    [["--gpu", "0xH100"], ["--rocm", "foo"], ["--torch", "foo"], ["--context", "fsdp,!fsdp"]],
)
def test_what_is_told_of_the_machine_must_make_sense(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "--recommend", *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_formats_that_place_a_finding(batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", batch, "--format", "sarif"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (misread,) = [r for r in results if r["message"]["text"].startswith("NCCL_P2P_DISABLE")]
    assert misread["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 8}
    assert run(["env", batch, "--format", "github"]) == 1
    assert f"::error file={batch},line=3,col=8," in capsys.readouterr().out


def test_a_patch_is_all_that_is_printed(batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", batch, "--diff", "--fail-on", "never"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"--- a/{batch}\n")
    assert "+export NCCL_P2P_DISABLE=1\n" in printed
    assert run(["env", "--diff"]) == 2


def test_a_file_is_not_judged_by_the_machine_that_lints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[bool] = []

    def machine(*_: object, here: bool) -> object:
        asked.append(here)
        return Snapshot()

    monkeypatch.setattr("doctor.cli.env._machine", machine)
    path = tmp_path / "a.sh"
    path.write_text("export VLLM_USE_FLASHINFER_SAMPLER=1\n")
    run(["env", str(path)])
    run(["env", str(path), "--here"])
    assert asked == [False, True]
    capsys.readouterr()
