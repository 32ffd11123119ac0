"""A real Slurm with eight nodes on this machine: fleet check, a node that hangs and one that dies, drain by
HealthCheckProgram, a prolog that refuses a bad node."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.fleet.names import expanded, folded
from tests.docker import slurm
from tests.docker.conftest import REPO, unmet
from tests.docker.slurm import Cluster
from tests.probes import amd_trees

pytestmark = pytest.mark.engine
MARKS = ("bad", "hangs", "dies", "watched")
"""Files that name nodes."""
DOCTOR = [sys.executable, "-m", "doctor"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slurm")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def device_nodes(root: Path, gpus: int) -> None:
    """What a tree of a real node has in dev/; the numbers are those of KFD and DRM, and nobody opens them."""
    (root / "dev/dri").mkdir(parents=True)
    renders = [(f"dev/dri/renderD{number}", os.makedev(226, number)) for number in range(128, 128 + gpus)]
    for path, device in (("dev/kfd", os.makedev(234, 0)), *renders):
        os.mknod(root / path, 0o666 | stat.S_IFCHR, device)
        (root / path).chmod(0o666)  # whatever the umask


@pytest.fixture(scope="module")
def node_doctor(folder: Path) -> Path:
    """The doctor of each node: it looks at a machine with two MI300X, at one with a single GPU on a node that is named
    in the file `bad`; its `check` hangs on a node named in `hangs`, and kills slurmd on
    one named in `dies`."""
    for name, buses in (("good", (0x1B, 0x3D)), ("broken", (0x1B,))):
        amd_trees.mi300x(folder / name, *buses)
        device_nodes(folder / name, len(buses))
    for name in MARKS:
        (folder / name).write_text("")
    command = shlex.join(DOCTOR)
    return script(
        folder / "doctor",
        f"""
is() {{ grep -qx "$SLURMD_NODENAME" {folder}/"$1"; }}
if [ "$1" = check ] && is hangs; then exec sleep 300; fi
if [ "$1" = check ] && is dies; then kill -9 "$(cat {folder}/"$SLURMD_NODENAME".pid)"; exec sleep 300; fi
root={folder}/good
echo "$SLURM_GPUS_ON_NODE" >{folder}/given-"$SLURMD_NODENAME"
if is bad; then root={folder}/broken; fi
cd {REPO} && exec {command} "$@" --root "$root"
""",
    )


@pytest.fixture(scope="module")
def cluster(folder: Path, node_doctor: Path) -> Iterator[Cluster]:
    reason = slurm.missing()
    if reason:
        unmet(reason)
    told = f"DOCTOR={node_doctor} DOCTOR_GPUS=2 exec {REPO}/contrib/slurm"
    # Eight doctors at once on a small machine take their time: they run where a test looks at them.
    prolog = script(folder / "prolog", f"[ -e {folder}/prologs ] || exit 0\n{told}/prolog.sh")
    epilog = script(folder / "epilog", f"[ -e {folder}/epilogs ] || exit 0\n{told}/epilog.sh")
    environment = f"SLURM_CONF={folder}/slurm.conf DOCTOR_RESUME=1"
    only = f'grep -qx "$SLURMD_NODENAME" {folder}/watched || exit 0'
    health = script(folder / "health", f"{only}\n{environment} {told}/health-check.sh")
    more = (
        f"Prolog={prolog}\nPrologFlags=Alloc\nEpilog={epilog}\nHealthCheckProgram={health}\n"
        "HealthCheckInterval=5\nHealthCheckNodeState=ANY"
    )
    with slurm.cluster(folder, more) as made:
        yield made


@pytest.fixture(autouse=True)
def all_good(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Each test begins with eight good, idle nodes."""
    yield
    for name in MARKS:
        (folder / name).write_text("")
    for name in ("prologs", "epilogs"):
        (folder / name).unlink(missing_ok=True)
    cluster.until(cluster.repaired, "all nodes to be idle again", 90)


def fleet_check(cluster: Cluster, doctor: Path, *more: str) -> tuple[int, dict[str, object]]:
    argv = [*DOCTOR, "fleet", "check", "--slurm", "--doctor", str(doctor), "--format", "json", *more]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=200, env=cluster.environment, cwd=REPO)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_good_fleet_is_good(cluster: Cluster, node_doctor: Path) -> None:
    code, told = fleet_check(cluster, node_doctor)
    assert told["verdict"] == "Fleet: good. All 8 nodes answered, without an error and like most of their kind."
    assert code == 0


def test_a_node_that_hangs_and_one_that_dies_are_named_and_stop_nobody(
    cluster: Cluster, folder: Path, node_doctor: Path
) -> None:
    (folder / "hangs").write_text("node5\n")
    (folder / "dies").write_text("node6\n")
    code, told = fleet_check(cluster, node_doctor, "--timeout", "12")
    assert code == 1
    silent = {row["nodes"]: row["reason"] for row in told["silent"]}  # type: ignore[attr-defined]
    assert silent["node5"] == "Slurm: it did not end: Killed"
    # Slurm notices a dead slurmd after SlurmdTimeout; where the step ends first, it has no word on the node yet.
    assert silent["node6"] in ("Slurm: node failure", "it wrote nothing")
    assert told["bad"] == {"count": 2, "nodes": "node[5-6]"}
    assert [kind["count"] for kind in told["kinds"]] == [6]  # type: ignore[attr-defined]


def test_a_drained_node_is_named_with_slurms_reason_and_not_asked(cluster: Cluster, node_doctor: Path) -> None:
    cluster.ask("scontrol", "update", "NodeName=node2", "State=DRAIN", "Reason=fan is loud")
    code, told = fleet_check(cluster, node_doctor)
    assert code == 1
    assert told["silent"] == [{"nodes": "node2", "count": 1, "reason": "Slurm: drained (fan is loud), not asked"}]


def test_the_emitted_sbatch_gives_the_verdict(
    cluster: Cluster, folder: Path, node_doctor: Path, tmp_path: Path
) -> None:
    for given in folder.glob("given-*"):
        given.unlink()
    argv = [*DOCTOR, "fleet", "check", "--emit", "sbatch", "--doctor", str(node_doctor), "--nodes", "node[1-3]"]
    argv += [f"--option=--gres=gpu:{slurm.GPUS}"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=REPO).stdout
    # The verdict's own call goes to a doctor without --root, as an administrator's would.
    text = text.replace(f"{node_doctor} fleet report", f"{shlex.join(DOCTOR)} fleet report")
    batch = tmp_path / "fleet.sh"
    batch.write_text(text)
    done = cluster.ask("sbatch", "--wait", f"--chdir={REPO}", f"--output={tmp_path}/out.txt", str(batch))
    told = (tmp_path / "out.txt").read_text()
    assert "Fleet: good. All 3 nodes answered" in told, done.stderr + told
    assert (folder / "given-node2").read_text() == "2\n"


def test_a_run_over_two_nodes_starts_once_on_each(cluster: Cluster, tmp_path: Path) -> None:
    """`doctor run --emit slurm` with `sbatch --nodes=2`, as for NCCL. srun, nodes and ranks are real. pyxis is not
    here: a srun in front of it takes its options away and leaves out what enroot does."""
    argv = [*DOCTOR, "run", "--emit", "slurm", "--vendor", "amd", "--gpus", "0,1", "-e", "NCCL_DEBUG=INFO",
            "--entrypoint", "sh", "rocm/pytorch:latest", "--", "-c",
            'echo "rank $SLURM_PROCID of $SLURM_NTASKS: $SLURMD_NODENAME $SLURM_GPUS_ON_NODE $NCCL_DEBUG"']  # fmt: skip
    batch = tmp_path / "job.sh"
    batch.write_text(subprocess.run(argv, capture_output=True, text=True, check=True, cwd=REPO).stdout)
    real = shutil.which("srun")
    strip = 'for word; do shift; case "$word" in --container-*) ;; *) set -- "$@" "$word";; esac; done'
    script(tmp_path / "srun", f'{strip}\nexec {real} "$@"')
    path = f"PATH={tmp_path}:{os.environ['PATH']}"
    options = ["--nodes=2", "--wait", f"--export=ALL,{path}", f"--output={tmp_path}/out.txt", f"--chdir={tmp_path}"]
    done = cluster.ask("sbatch", *options, str(batch))
    rows = sorted((tmp_path / "out.txt").read_text().splitlines())
    assert [row.partition(": ")[0] for row in rows] == ["rank 0 of 2", "rank 1 of 2"], done.stderr
    nodes, gpus, debug = zip(*(row.partition(": ")[2].split() for row in rows), strict=True)
    assert (len(set(nodes)), gpus, debug) == (2, ("2", "2"), ("INFO", "INFO"))


def test_the_health_check_drains_a_node_that_lost_a_gpu_and_takes_it_back(cluster: Cluster, folder: Path) -> None:
    (folder / "watched").write_text("node4\nnode5\n")
    (folder / "bad").write_text("node4\n")
    cluster.until(lambda: cluster.states()["node4"] == "drained", "node4 to be drained", 60)
    assert cluster.reason("node4") == "doctor: 1 of 2 GPUs found"
    assert [n for n, state in cluster.states().items() if state != "idle"] == ["node4"]
    (folder / "bad").write_text("")
    cluster.until(lambda: cluster.states()["node4"] == "idle", "node4 to come back", 60)


def test_the_health_check_keeps_the_reason_of_others(cluster: Cluster, folder: Path) -> None:
    cluster.ask("scontrol", "update", "NodeName=node4", "State=DRAIN", "Reason=fan is loud")
    (folder / "watched").write_text("node4\nnode7\n")
    (folder / "bad").write_text("node4\nnode7\n")
    cluster.until(lambda: cluster.states()["node7"] == "drained", "node7 to be drained", 60)
    assert cluster.reason("node4") == "fan is loud"


def test_the_prolog_refuses_a_bad_node_and_the_job_runs_elsewhere(cluster: Cluster, folder: Path) -> None:
    (folder / "prologs").touch()
    (folder / "bad").write_text("node1\n")
    out = folder / "job.txt"
    job = cluster.ask("sbatch", "--parsable", "--requeue", f"--output={out}", "--wrap", "echo ran on $SLURMD_NODENAME")
    number = job.stdout.strip()
    cluster.until(lambda: cluster.states()["node1"].startswith("drain"), "node1 to be drained", 60)
    # Slurm holds a job whose prolog failed, and lets two minutes go by before it starts it anew.
    cluster.ask("scontrol", "release", number)
    cluster.ask("scontrol", "update", f"JobId={number}", "StartTime=now")
    cluster.until(lambda: out.exists() and "ran on" in out.read_text(), "the job to run", 200)
    assert out.read_text().strip() != "ran on node1"


def test_the_epilog_drains_a_node_that_broke_under_a_job(cluster: Cluster, folder: Path) -> None:
    (folder / "epilogs").touch()
    (folder / "bad").write_text("node3\n")
    done = cluster.ask("srun", "--nodelist=node3,node4", "--nodes=2", "true")
    assert done.returncode == 0, done.stderr  # the job itself is not harmed
    cluster.until(lambda: cluster.states()["node3"] == "drained", "node3 to be drained", 60)
    assert cluster.reason("node3") == "Epilog error"
    cluster.until(lambda: cluster.states()["node4"] == "idle", "node4 to be idle", 60)
    returned(cluster, folder, "node3")


def test_the_command_that_fleet_check_prints_drains_the_right_node(
    cluster: Cluster, folder: Path, node_doctor: Path
) -> None:
    (folder / "bad").write_text("node6\n")
    argv = [*DOCTOR, "fleet", "check", "--slurm", "--doctor", str(node_doctor)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=200, env=cluster.environment, cwd=REPO)
    (command,) = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("scontrol ")]
    assert cluster.ask(*shlex.split(command)).returncode == 0
    assert [n for n, state in cluster.states().items() if state != "idle"] == ["node6"]
    assert cluster.reason("node6") == "doctor: GPUs = 1, not 2"
    returned(cluster, folder, "node6")


def returned(cluster: Cluster, folder: Path, node: str) -> None:
    """The health check gives the node doctor's reason while it is bad, and gives it back once it is repaired."""
    (folder / "watched").write_text(f"{node}\n")
    cluster.until(lambda: cluster.reason(node) == "doctor: 1 of 2 GPUs found", "the health check's reason", 60)
    (folder / "bad").write_text("")
    cluster.until(lambda: cluster.states()[node] == "idle", f"{node} to come back", 60)


def test_what_slurm_believes_is_held_against_what_the_nodes_say(
    cluster: Cluster, folder: Path, node_doctor: Path, tmp_path: Path
) -> None:
    """Slurm's own `scontrol show node` and the gres.conf that it runs by."""
    (folder / "bad").write_text("node3\nnode8\n")
    fleet_check(cluster, node_doctor, "--keep", str(tmp_path / "reports"))
    cluster.ask("scontrol", "update", "NodeName=node5", "State=DRAIN", "Reason=fan is loud")
    (tmp_path / "nodes.txt").write_text(cluster.ask("scontrol", "show", "node", "-o").stdout)
    views = ["--slurm", str(tmp_path / "nodes.txt"), "--gres", str(cluster.gres)]
    argv = [*DOCTOR, "fleet", "report", str(tmp_path / "reports"), "--format", "json", *views]
    told = json.loads(subprocess.run(argv, capture_output=True, text=True, cwd=REPO).stdout)
    counted, drained, configured = told["disagreements"]
    assert counted == "node[3,8]: Slurm counts 2 GPUs, the node has 1"
    assert configured == "node[3,8]: gres.conf counts 2 GPUs, the node has 1"
    assert drained.startswith("node5: Slurm says IDLE+DRAIN (fan is loud [")
    assert drained.endswith("and no problem was found on the node")


def test_a_step_of_fleet_check_has_all_gpus_of_its_node(cluster: Cluster, node_doctor: Path, folder: Path) -> None:
    """Where a cluster hides what a job did not ask for, a check that asks for nothing would see no GPU."""
    fleet_check(cluster, node_doctor)
    given = {path.name: path.read_text().strip() for path in folder.glob("given-*")}
    assert given == {f"given-node{n}": "2" for n in range(1, slurm.NODES + 1)}


def test_bracket_lists_are_what_slurm_reads(cluster: Cluster) -> None:
    names = ["node1", "node2", "node3", "node7", "gpu008", "gpu009", "gpu010", "gpu100", "login", "r1-n9", "r1-n10"]
    told = cluster.ask("scontrol", "show", "hostnames", folded(names)).stdout.split()
    assert sorted(told) == sorted(names)
    slurms = cluster.ask("scontrol", "show", "hostlistsorted", ",".join(names)).stdout.strip()
    assert sorted(expanded(slurms)) == sorted(names)
    assert folded(names) == "gpu[008-010,100],login,node[1-3,7],r1-n[9-10]"
