"""`doctor run` in-process: what it prints for a capture, what it refuses, exit codes, both streams."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from doctor.cli.main import run
from doctor.cli.run import PROBES
from doctor.engine import registry
from doctor.facts.sheet import FactSheet
from doctor.launch import formats
from doctor.system.recorder import Recorder
from doctor.system.tree import TreeSystem
from tests.probes import amd_trees

PROFILE, BUILT = "mi300x+rocm7.14+vllm", "mi300x+rocm7.2+train"


@pytest.fixture
def capture(tmp_path: Path) -> list[str]:
    """`--from` a capture of a machine with two MI300X, whose /dev was not recorded."""
    amd_trees.mi300x(tmp_path / "tree", 0x1B, 0x3D)
    recorder = Recorder(TreeSystem(tmp_path / "tree"))
    for probe in registry.probes(PROBES):
        probe.run(recorder, FactSheet())
    recorder.save(tmp_path / "capture", created="2026-11-21T00:00:00Z")
    return ["run", "--from", str(tmp_path / "capture")]


def words(text: str) -> list[str]:
    return shlex.split(text.replace("\\\n", " "))


def test_a_captured_machine_is_planned_for(capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*capture, "--gpus", "1", "rocm/pytorch:latest", "--", "rocminfo"]) == 0
    line = words(capsys.readouterr().out)
    assert line[:3] == ["docker", "run", "--rm"]
    assert [line[n + 1] for n, w in enumerate(line) if w == "--device"] == ["/dev/kfd", "/dev/dri/renderD129"]
    assert line[-2:] == ["rocm/pytorch:latest", "rocminfo"]


def test_a_tree_is_planned_for_like_its_capture(
    capture: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*capture, "--gpus", "1", "a", "--", "b"]) == 0
    of_capture = capsys.readouterr()
    assert run(["run", "--root", str(tmp_path / "tree"), "--gpus", "1", "a", "--", "b"]) == 0
    assert capsys.readouterr() == of_capture
    assert "note: the engine of that machine is not known" in of_capture.err
    assert run([*capture, "--root", str(tmp_path / "tree"), "a"]) == 2
    assert "--from and --root each name a machine" in capsys.readouterr().err


def test_options_stand_before_or_behind_the_image_and_all_behind_the_dashes_is_the_command(
    capture: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for argv in (["--gpus", "0", "a", "--"], ["a", "--gpus", "0", "--"]):
        assert run([*capture, *argv, "run", "--gpus", "-e", "x", "--", "y"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert words(shown[0])[-7:] == ["a", "run", "--gpus", "-e", "x", "--", "y"]


@pytest.mark.parametrize("name", formats.names())
def test_every_format(name: str, capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*capture, "--emit", name, "rocm/pytorch:latest", "--", "rocminfo", "--flag"]) == 0
    shown = capsys.readouterr().out
    assert "rocm/pytorch:latest" in shown
    assert shown.endswith("\n")
    assert "rocminfo" in shown or name == "devcontainer"


def test_explain_gives_each_flag_its_reason(capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*capture, "--explain", "--gpus", "0", "--with", "numa", "a"]) == 0
    rows = capsys.readouterr().out.splitlines()
    flags, reasons = rows[::2], rows[1::2]
    assert flags == ["--rm", "--device /dev/kfd", "--device /dev/dri/renderD128", "--cap-add SYS_NICE"]
    assert all(row.startswith("    ") and len(row) > 20 for row in reasons)


def test_a_profile_adds_what_its_workload_needs(capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*capture, "--profile", PROFILE, "--emit", "compose", "vllm/vllm:1"]) == 0
    (service,) = yaml.safe_load(capsys.readouterr().out)["services"].values()
    assert (service["image"], service["shm_size"]) == ("vllm/vllm:1", "8g")
    assert "cap_add" not in service
    assert run([*capture, "--profile", PROFILE, "--explain", "vllm/vllm:1"]) == 0
    assert "(not unless you ask) cap SYS_PTRACE, where" in capsys.readouterr().out


def test_a_profile_stands_for_its_image(capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for named in ([BUILT], ["--profile", BUILT], ["mi300x-rocm7.2-train"]):
        assert run([*capture, "--emit", "docker", *named]) == 0
        assert words(capsys.readouterr().out)[-1] == "doctor/mi300x-rocm7.2-train"


def test_an_image_that_is_only_here_is_not_written_for_a_cluster(
    capture: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*capture, "--emit", "kubernetes", BUILT]) == 2
    assert "doctor image build mi300x-rocm7.2-train --push REGISTRY/NAME:TAG" in capsys.readouterr().err
    assert run([*capture, "--emit", "kubernetes", "--profile", PROFILE, "r.example.org/vllm:1"]) == 0


def test_an_option_that_a_format_leaves_out_is_a_note(capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*capture, "--emit", "apptainer", "-p", "8000:8000", "a"]) == 0
    assert "doctor: note: left out: -p 8000:8000: the node's network is used: " in capsys.readouterr().err


def test_prove_starts_a_container_and_prints_nothing_else(
    capture: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*capture, "--prove", "a"]) == 2
    assert "--prove starts a container here" in capsys.readouterr().err


def test_o_writes_a_file_that_others_can_not_read(
    capture: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "devcontainer.json"
    assert run([*capture, "--emit", "devcontainer", "-e", "TOKEN=abc", "-o", str(target), "a"]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(target.read_text())["containerEnv"] == {"TOKEN": "abc"}
    assert target.stat().st_mode & 0o777 == 0o600


def test_for_a_cluster_numbers_and_a_vendor_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a laptop without a GPU."""
    recorder = Recorder(TreeSystem(tmp_path))
    for probe in registry.probes(PROBES):
        probe.run(recorder, FactSheet())
    recorder.save(tmp_path / "capture", created="2026-11-21T00:00:00Z")
    argv = ["run", "--from", str(tmp_path / "capture"), "--vendor", "nvidia", "--gpus", "0,1", "--emit", "kubernetes"]
    assert run([*argv, "a"]) == 0
    said = capsys.readouterr()
    (container,) = yaml.safe_load(said.out)["spec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    assert run([*argv[:3], "--vendor", "amd", "--gpus", "0,1", "--emit", "slurm", "a", "--", "b"]) == 0
    said = capsys.readouterr()
    assert "#SBATCH --gres=gpu:2" in said.out
    assert "missing" not in said.err  # no node here says nothing of the cluster's
    assert run([*argv[:3], "--emit", "kubernetes", "a"]) == 2
    assert "--vendor amd --gpus 0,1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "name an image or a profile"),
        (["--emit", "nomad", "a"], "invalid --emit 'nomad' (choose from docker, podman,"),
        (["--engine", "lxc", "a"], "invalid --engine 'lxc' (choose from docker, podman)"),
        (["--vendor", "intel", "a"], "invalid --vendor 'intel' (choose from amd, nvidia)"),
        (["--by", "magic", "a"], "invalid --by 'magic' (choose from auto, cdi, nodes, runtime)"),
        (["--with", "everything", "a"], "invalid --with 'everything' (choose from ipc-host, seccomp-unconfined"),
        (["--shm", "lots", "a"], "invalid --shm 'lots' (a size such as 8g or 512m)"),
        (["--gpus", "9", "a"], "--gpus '9': no such GPU here; there are 0 (0000:1b:00.0), 1 (0000:3d:00.0)"),
        (["--gpus", ",", "a"], "--gpus: give numbers"),
        (["--profile", "nonsense", "a"], "no profile 'nonsense'"),
        (["-e", "A B=c", "a"], "'A B=c': not NAME=VALUE"),
        (["-v", "some/thing:/b", "a"], "'some/thing:/b': not HOST:CONTAINER[:ro]"),
        (["-u", "root", "a"], "'root': not UID[:GID]"),
        (["a b"], "'a b': not an image reference"),
        (["--bogus", "a"], "no option --bogus: put -- before"),
        (["--ipc=host", "a"], "no option --ipc: write --with ipc-host"),
    ],
)
def test_wrong_usage_is_one_line_and_2(
    argv: list[str], said: str, capture: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*capture, *argv]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert len(shown.err.splitlines()) == 1


def test_what_is_pasted_from_a_docker_line_is_taken(capture: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*capture, "-it", "--rm", "--shm-size", "16g", "--gpus", '"device=0"', "a", "bash"]) == 0
    line = words(capsys.readouterr().out)
    assert line.count("--rm") == 1
    assert line[-4:] == ["--shm-size", "16g", "a", "bash"]
    assert "/dev/dri/renderD129" not in line


@pytest.mark.parametrize("shown", ["--print", "--explain"])
def test_what_only_prints_needs_no_engine(
    shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")  # nobody answers, installed or not
    assert run(["run", shown, "--engine", "docker", "--gpus", "none", "img", "--", "true"]) == 0
    said = capsys.readouterr()
    assert "--rm" in said.out
    assert "written without knowing the engine" in said.err
    assert run(["run", "--engine", "docker", "--gpus", "none", "img", "--", "true"]) == 2
