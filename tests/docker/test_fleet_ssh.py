"""`doctor fleet check` through real ssh and real ansible: nodes behind the user's own configuration or inventory. One
is unreachable, one never speaks, one hangs, and one has a host key that nobody has accepted."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker import sshd
from tests.docker.conftest import REPO, unmet
from tests.docker.sshd import Nodes
from tests.probes import amd_trees

pytestmark = pytest.mark.engine
DOCTOR = [sys.executable, "-m", "doctor"]
ANSIBLE = Path(sys.executable).with_name("ansible")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    reason = sshd.missing()
    if reason:
        unmet(reason)
    folder = tmp_path_factory.mktemp("sshd")
    with sshd.nodes(folder, ["n1", "n2", "n3", "hangs", "new"], unknown=["new"]) as made:
        yield made


@pytest.fixture(scope="module")
def node_doctor(nodes: Nodes) -> Path:
    """The doctor of each node: two MI300X, one on n3; on `hangs` it never ends."""
    for name, buses in (("good", (0x1B, 0x3D)), ("short", (0x1B,))):
        amd_trees.mi300x(nodes.folder / name, *buses)
    program = nodes.folder / "doctor"
    program.write_text(
        "#!/bin/sh\n"
        "case $DOCTOR_TEST_NODE in hangs) exec sleep 300 ;; n3) root=short ;; *) root=good ;; esac\n"
        f'cd {REPO} && exec {shlex.join(DOCTOR)} "$@" --root {nodes.folder}/$root\n'
    )
    program.chmod(0o755)
    return program


def fleet_check(nodes: Nodes, doctor: Path, *more: str, terminal: bool = False) -> tuple[int, dict[str, Any]]:
    """With a terminal as a person has one, so that whoever wants to ask for something could."""
    argv = [
        *DOCTOR,
        "fleet",
        "check",
        "--doctor",
        str(doctor),
        "--format",
        "json",
        "-o",
        str(nodes.folder / "told"),
        *more,
    ]
    if terminal:
        argv = ["script", "-qefc", shlex.join(argv), "/dev/null"]
    path = f"{ANSIBLE.parent}:{nodes.path()}"
    environment = {**os.environ, "PATH": path, "ANSIBLE_LOCAL_TEMP": str(nodes.folder / "ansible"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=300, env=environment, cwd=REPO, stdin=subprocess.DEVNULL
    )
    told = nodes.folder / "told"
    assert told.exists(), done.stdout + done.stderr
    data = json.loads(told.read_text())
    told.unlink()
    return done.returncode, data


def silent(told: dict[str, Any]) -> dict[str, str]:
    return {row["nodes"]: row["reason"] for row in told["silent"]}


def test_three_nodes_through_ssh_and_the_odd_one(nodes: Nodes, node_doctor: Path) -> None:
    code, told = fleet_check(nodes, node_doctor, "--ssh", "n[1-3]")
    assert told["nodes"] == 3
    assert silent(told) == {}
    (kind,) = told["kinds"]
    rows = {row["fact"]: row["nodes"] for row in kind["odd"]}
    assert rows["gpu: GPUs"] == "n3"
    assert (code, told["bad"]) == (1, {"count": 1, "nodes": "n3"})


def test_whoever_does_not_answer_through_ssh_is_named_with_the_reason(nodes: Nodes, node_doctor: Path) -> None:
    code, told = fleet_check(
        nodes, node_doctor, "--ssh", "n[1-2],hangs,away,mute,new", "--timeout", "20", terminal=True
    )
    reasons = silent(told)
    assert (code, told["nodes"]) == (1, 6)
    assert reasons.keys() == {"hangs", "away", "mute", "new"}
    assert reasons["away"].endswith("Connection refused")
    assert reasons["new"] == "Host key verification failed."
    assert "timed out" in reasons["mute"]
    assert reasons["hangs"] == "no answer within 20 s"
    assert told["bad"]["nodes"] == "away,hangs,mute,new"


def test_the_same_through_ansible_over_the_users_inventory(nodes: Nodes, node_doctor: Path) -> None:
    if not ANSIBLE.exists():
        unmet("ansible is not installed (pip install --group engine)")
    code, told = fleet_check(
        nodes, node_doctor, "--ansible", str(nodes.inventory()), "--hosts", "gpu", "--timeout", "20", terminal=True
    )
    reasons = silent(told)
    assert (code, told["nodes"]) == (1, 7)
    assert reasons.keys() == {"hangs", "away", "mute", "new"}
    assert "Connection refused" in reasons["away"]
    assert "Host key verification failed" in reasons["new"]
    assert "timed out" in reasons["mute"]
    assert reasons["hangs"] == "no answer within 20 s"
    (kind,) = told["kinds"]
    assert {row["nodes"] for row in kind["odd"]} == {"n3"}


def test_the_emitted_playbook_leaves_a_report_of_each_node(nodes: Nodes, node_doctor: Path, tmp_path: Path) -> None:
    if not ANSIBLE.exists():
        unmet("ansible is not installed (pip install --group engine)")
    argv = [*DOCTOR, "fleet", "check", "--emit", "ansible", "--doctor", str(node_doctor), "--timeout", "20"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=REPO).stdout
    play = tmp_path / "play.yml"
    play.write_text(text)
    environment = {**os.environ, "ANSIBLE_LOCAL_TEMP": str(tmp_path / "ansible"), "LC_ALL": "C.UTF-8"}
    run = [str(ANSIBLE.with_name("ansible-playbook")), "-i", str(nodes.inventory()), "-l", "n1,n2,n3", str(play)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=200, env=environment, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "reports").stat().st_mode & 0o777 == 0o700
    judged = [*DOCTOR, "fleet", "report", str(tmp_path / "reports"), "--format", "json"]
    told = json.loads(subprocess.run(judged, capture_output=True, text=True, cwd=REPO).stdout)
    assert (told["nodes"], told["bad"]["nodes"]) == (3, "n3")
