"""What `doctor run --emit` writes, read by its real consumers: Compose, the development container CLI, Slurm."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from doctor.launch.formats import emit
from tests.docker.conftest import run
from tests.launch.cases import WORKLOAD, planned

pytestmark = pytest.mark.engine
HOSTILE = ("$HOME $$ ${X}", "a'b\"c", "; touch /owned", "é\n- x: y")


def test_compose_takes_every_case(engine: str, tmp_path: Path) -> None:
    """One file with a service a case: `config` validates it and prints what was understood."""
    if run("docker", "compose", "version").returncode:
        pytest.skip("no docker compose here")
    specs = planned(WORKLOAD, env=tuple(f"V{n}={value}" for n, value in enumerate(HOSTILE)))
    services = {}
    for number, spec in enumerate(specs.values()):
        (service,) = yaml.safe_load(emit("compose", spec).text)["services"].values()
        services[f"case-{number}"] = service
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump({"services": services}))
    done = run("docker", "compose", "-f", str(tmp_path / "compose.yaml"), "config", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    understood = json.loads(done.stdout)["services"]
    for number, spec in enumerate(specs.values()):
        service = understood[f"case-{number}"]
        # `config` prints a file again: what it doubles stands for one.
        assert [service["environment"][f"V{n}"].replace("$$", "$") for n in range(len(HOSTILE))] == list(HOSTILE)
        wanted = [p.value for p in spec.of("device")]
        assert [device["source"] for device in service.get("devices", ())] == wanted
        assert service["shm_size"] == str(8 << 30)


def test_the_development_container_cli_reads_it(tmp_path: Path) -> None:
    program = shutil.which("devcontainer")
    if program is None:
        pytest.skip("no devcontainer CLI here (npm install -g @devcontainers/cli)")
    for number, (case, spec) in enumerate(planned(WORKLOAD, user="1000:1000", env=("A=$B $(c) 'd'",)).items()):
        folder = tmp_path / str(number)
        (folder / ".devcontainer").mkdir(parents=True)
        text = emit("devcontainer", spec).text
        (folder / ".devcontainer/devcontainer.json").write_text(text)
        if number % 4:
            continue  # a start of node each: every fourth case holds all keys
        done = run(program, "read-configuration", "--workspace-folder", str(folder))
        assert done.returncode == 0, (case, done.stderr)
        read = json.loads(done.stdout)["configuration"]
        written = json.loads(text)
        assert {key: read.get(key) for key in written} == written


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a Slurm of one node with four GPUs, which are plain files: nothing is run on it."""
    if os.geteuid() or not shutil.which("slurmctld") or not shutil.which("slurmd"):
        pytest.skip("no Slurm here (Debian: slurmctld, slurmd, slurm-client)")
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "state").mkdir()
    for number in range(4):
        (folder / f"gpu{number}").touch()
    (folder / "gres.conf").write_text(f"NodeName=n1 Name=gpu File={folder}/gpu[0-3]\n")
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    ports = [_free_port(), _free_port()]
    (folder / "slurm.conf").write_text(
        f"""ClusterName=doctor-test
SlurmctldHost=localhost
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
GresTypes=gpu
NodeName=n1 NodeAddr=127.0.0.1 Port={ports[1]} Gres=gpu:4 State=UNKNOWN
PartitionName=gpus Nodes=n1 Default=YES State=UP
"""
    )
    environ = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    with (folder / "log").open("w") as log:
        argvs = (["slurmctld", "-D"], ["slurmd", "-D", "-N", "n1"])
        processes = [subprocess.Popen(argv, env=environ, stdout=log, stderr=log) for argv in argvs]
        try:
            for _ in range(60):
                if _sinfo(environ) == "idle":
                    break
                time.sleep(0.5)
            else:
                pytest.fail((folder / "log").read_text()[-2000:])
            yield environ
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


def _sinfo(environ: dict[str, str]) -> str:
    argv = ["sinfo", "-h", "-o", "%t"]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=10, check=False).stdout.strip()


def _tried(path: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = ["sbatch", "--test-only", str(path)]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=20, check=False)


def test_slurm_would_start_every_case(slurm: dict[str, str], tmp_path: Path) -> None:
    env = tuple(f"V{n}={value}" for n, value in enumerate(HOSTILE))
    for number, (case, spec) in enumerate(planned(WORKLOAD, env=env).items()):
        path = tmp_path / f"{number}.sh"
        path.write_text(emit("slurm", spec).text)
        done = _tried(path, slurm)
        assert (done.returncode, "to start at" in done.stderr) == (0, True), (case, done.stderr)


def test_slurm_counts_the_gpus_of_the_script(slurm: dict[str, str], tmp_path: Path) -> None:
    """The number is read by Slurm: one more than the node has is refused."""
    text = emit("slurm", planned()["amd cdi"]).text
    assert "#SBATCH --gres=gpu:3\n" in text
    (tmp_path / "job.sh").write_text(text.replace("gpu:3", "gpu:5"))
    assert "Requested node configuration is not available" in _tried(tmp_path / "job.sh", slurm).stderr
