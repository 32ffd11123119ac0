"""The scripts for Slurm, NHC, node-problem-detector and systemd, each run as its consumer runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docker.conftest import unmet

REPO = Path(__file__).resolve().parents[2]
CONTRIB = REPO / "contrib"
SHELLCHECK = Path(sys.executable).with_name("shellcheck")


def doctor(folder: Path, code: int, line: str = "doctor: gpu-lost: A GPU fell off the bus.") -> Path:
    """A doctor that answers so; it writes down how it was called."""
    program = folder / "doctor"
    program.write_text(f'#!/bin/sh\necho "$*" >{folder}/asked\necho "{line}"\nexit {code}\n')
    program.chmod(0o755)
    return program


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As slurmd and the detector start it: with next to no environment."""
    return subprocess.run([CONTRIB / script], capture_output=True, text=True, env=environment, timeout=30)


@pytest.mark.parametrize("script", sorted(p.relative_to(CONTRIB).as_posix() for p in CONTRIB.rglob("*.sh")))
def test_scripts_are_sound_shell_and_executable(script: str) -> None:
    done = subprocess.run([SHELLCHECK, CONTRIB / script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert os.access(CONTRIB / script, os.X_OK)


@pytest.mark.parametrize("what", ["prolog", "epilog"])
@pytest.mark.parametrize(("code", "answers"), [(0, 0), (1, 1), (2, 0), (3, 0), (130, 0)])
def test_only_a_known_error_drains_a_node(what: str, code: int, answers: int, tmp_path: Path) -> None:
    done = run(f"slurm/{what}.sh", DOCTOR=str(doctor(tmp_path, code)), DOCTOR_GPUS="8")
    assert done.returncode == answers
    assert (tmp_path / "asked").read_text() == f"fleet health --for slurm-{what} --gpus 8\n"


@pytest.mark.parametrize("script", ["slurm/prolog.sh", "slurm/epilog.sh", "slurm/health-check.sh"])
def test_a_missing_doctor_or_a_slow_one_stops_no_job(script: str, tmp_path: Path) -> None:
    assert run(script, DOCTOR=str(tmp_path / "none")).returncode == 0
    slow = tmp_path / "doctor"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    assert run(script, DOCTOR=str(slow), DOCTOR_TIMEOUT="0.2").returncode == 0


@pytest.mark.parametrize(("code", "answers"), [(0, 0), (1, 1), (2, 2), (3, 2), (130, 2)])
def test_the_detectors_plugin_answers_good_problem_or_unknown(code: int, answers: int, tmp_path: Path) -> None:
    done = run("node-problem-detector/doctor.sh", DOCTOR=str(doctor(tmp_path, code)))
    assert done.returncode == answers
    # The detector cuts at 80 bytes and shows what is left: one line, and of a doctor at fault none of its own.
    said = "doctor: gpu-lost: A GPU fell off the bus." if code in (0, 1, 2) else "doctor: could not check"
    assert done.stdout == f"{said}\n"


@pytest.mark.skipif(bool(os.geteuid()), reason="chroot needs root")
def test_the_detectors_plugin_runs_the_nodes_own_doctor_where_its_root_is_mounted(tmp_path: Path) -> None:
    program = str(doctor(tmp_path, 1))
    done = run("node-problem-detector/doctor.sh", DOCTOR=program, DOCTOR_NODE_ROOT="/", DOCTOR_GPUS="8")
    assert (done.returncode, done.stdout) == (1, "doctor: gpu-lost: A GPU fell off the bus.\n")
    assert (tmp_path / "asked").read_text() == "fleet health --for npd --gpus 8\n"
    away = run("node-problem-detector/doctor.sh", DOCTOR=program, DOCTOR_NODE_ROOT="/nowhere")
    assert (away.returncode, away.stdout) == (2, "doctor: not installed\n")


def test_the_detectors_plugin_ends_before_the_detector_kills_it(tmp_path: Path) -> None:
    slow = tmp_path / "doctor"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    done = run("node-problem-detector/doctor.sh", DOCTOR=str(slow), DOCTOR_TIMEOUT="0.2")
    assert (done.returncode, done.stdout) == (2, "doctor: no answer in time\n")
    monitor = json.loads((CONTRIB / "node-problem-detector/doctor-monitor.json").read_text())
    assert monitor["pluginConfig"]["timeout"] == monitor["rules"][0]["timeout"] == "40s"  # 30 s and 5 s to end
    assert monitor["conditions"][0]["type"] == monitor["rules"][0]["condition"]


def test_nhc_is_told_by_die(tmp_path: Path) -> None:
    """`die CODE MESSAGE` is NHC's; a check returns 0 when all is well."""
    script = f'die() {{ echo "die $1: $2"; }}; . {CONTRIB}/nhc/doctor.nhc; check_doctor 8; echo "returned $?"'

    def told(code: int) -> str:
        environment = {"DOCTOR": str(doctor(tmp_path, code)), "PATH": os.environ["PATH"]}
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment).stdout

    assert told(1) == "die 1: check_doctor:  doctor: gpu-lost: A GPU fell off the bus.\nreturned 1\n"
    assert told(0) == told(3) == "returned 0\n"
    assert (tmp_path / "asked").read_text() == "fleet health --for nhc --gpus 8\n"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nhc"), reason="LBNL Node Health Check is not in PATH")
def test_nhc_itself_fails_the_node_for_a_known_error_alone(tmp_path: Path) -> None:
    program = Path(shutil.which("nhc") or "")
    scripts = next(p for p in (program.parent / "scripts", Path("/etc/nhc/scripts")) if p.is_dir())
    shutil.copytree(scripts, tmp_path / "scripts")
    shutil.copy(CONTRIB / "nhc/doctor.nhc", tmp_path / "scripts")
    (tmp_path / "nhc.conf").write_text("* || check_doctor 8\n")
    words = [f"CONFDIR={tmp_path}", f"INCDIR={tmp_path}/scripts", f"CONFFILE={tmp_path}/nhc.conf", "LOGFILE=-",
             "MARK_OFFLINE=0", "DETACHED_MODE=0", "NHC_RM=slurm", "NAME=nhc"]  # fmt: skip
    for code, fails in ((0, False), (1, True), (3, False)):
        environment = {"DOCTOR": str(doctor(tmp_path, code)), "PATH": os.environ["PATH"]}
        done = subprocess.run(["bash", program, "-a", *words], capture_output=True, text=True, env=environment)
        assert bool(done.returncode) is fails
        assert ("check_doctor:  doctor: gpu-lost: A GPU fell off the bus." in done.stdout + done.stderr) is fails
    assert (tmp_path / "asked").read_text() == "fleet health --for nhc --gpus 8\n"


def test_units_are_what_systemd_takes(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        unmet("systemd-analyze not found (Debian: apt-get install systemd)")
    for unit in (CONTRIB / "systemd").iterdir():
        text = unit.read_text().replace("/usr/local/bin/doctor", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = [str(tmp_path / name) for name in ("doctor-textfile.service", "doctor-textfile.timer")]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
    assert [line for line in done.stderr.splitlines() if "doctor-textfile" in line] == []
