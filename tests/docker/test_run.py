"""`doctor run` with a real engine: the asked-for nodes are in the container, a plain user may open them, others are not
there.

The host's sysfs is that of a machine with two MI300X (a mount namespace puts it there); nodes, engines, containers,
specs and opens are real.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docker.conftest import REPO, run
from tests.docker.gpu_nodes import AMD, LOOK, SEE, amd_nodes, cdi_folder, nvidia_nodes, podman, seen

pytestmark = pytest.mark.engine
_ = amd_nodes, nvidia_nodes, cdi_folder, podman  # fixtures
Doctor = Callable[..., "subprocess.CompletedProcess[str]"]

ENTER = """
mount --rbind /sys/fs/cgroup "$1/fs/cgroup" && mount --rbind "$1" /sys && shift && exec "$@"
"""
PLAIN = ["--user", "1000:1000"]
MAY = "ENXIO"
"""What a permitted open of a node gives that no driver serves."""


def words(sys_folder: Path, *argv: str) -> list[str]:
    return ["unshare", "-m", "sh", "-c", ENTER, "sh", str(sys_folder), sys.executable, "-m", "doctor", "run", *argv]


@pytest.fixture
def doctor(engine: str, image: str, mi300x_sys: Path) -> Doctor:
    """`doctor(*argv)` runs `doctor run` on that machine."""

    def start(*argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words(mi300x_sys, *argv), capture_output=True, text=True, timeout=90, cwd=REPO, check=False, env=env
        )

    return start


def spec(*devices: tuple[str, list[str]], version: str = "0.6.0", kind: str = "amd.com/gpu", **node: object) -> str:
    """A CDI spec as amd-ctk writes it: each device with /dev/kfd and its render nodes, the host's gid on each node."""
    rows = [
        {"name": name, "containerEdits": {"deviceNodes": [{"path": path, **node} for path in paths]}}
        for name, paths in devices
    ]
    return json.dumps({"cdiVersion": version, "kind": kind, "devices": rows})


TWO = (("0", ["/dev/kfd", "/dev/dri/renderD128"]), ("1", ["/dev/kfd", "/dev/dri/renderD129"]))
BOTH = ("all", ["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129"])


def test_docker_by_nodes_passes_one_gpu_to_a_plain_user(doctor: Doctor, amd_nodes: None, image: str) -> None:
    done = doctor("--engine", "docker", "--gpus", "1", *PLAIN, image, "--", *SEE)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}


def test_docker_by_nodes_passes_all(doctor: Doctor, amd_nodes: None, image: str) -> None:
    done = doctor("--engine", "docker", *PLAIN, image, "--", *SEE)
    assert seen(done.stdout) == {f"/dev/{name}": MAY for name in AMD}


def test_without_gpus_none_is_there(doctor: Doctor, amd_nodes: None, image: str) -> None:
    assert seen(doctor("--engine", "docker", "--gpus", "none", image, "--", *SEE).stdout) == {}


def test_without_the_group_a_plain_user_is_refused(engine: str, amd_nodes: None, image: str) -> None:
    """What the group is for: the same nodes without it."""
    argv = [engine, "run", "--rm", "--device", "/dev/kfd", *PLAIN, image, *SEE]
    assert seen(run(*argv).stdout) == {"/dev/kfd": "EACCES"}


@pytest.mark.parametrize("node", [{}, {"gid": 992}, {"gid": 993, "fileMode": 0o660, "type": "c"}], ids=str)
def test_docker_by_cdi(doctor: Doctor, amd_nodes: None, cdi_folder: Path, image: str, node: dict[str, Any]) -> None:
    """The gid that the spec gives its nodes is the one that is passed: Docker 26.1.5 ignores additionalGids."""
    numbers = [{"major": AMD[p[5:]][0], "minor": AMD[p[5:]][1]} if "type" in node else {} for p in BOTH[1]]
    text = json.loads(spec(*TWO, BOTH, **node))
    for device in text["devices"]:
        for one in device["containerEdits"]["deviceNodes"]:
            one.update(numbers[BOTH[1].index(one["path"])])
    (cdi_folder / "amd.json").write_text(json.dumps(text))
    one_gpu = doctor("--engine", "docker", "--gpus", "1", *PLAIN, image, "--", *SEE)
    assert seen(one_gpu.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}, one_gpu.stderr
    assert "--device amd.com/gpu=all" in doctor("--engine", "docker", "--print", image).stdout
    every = doctor("--engine", "docker", *PLAIN, image, "--", *SEE)
    assert seen(every.stdout) == {f"/dev/{name}": MAY for name in AMD}


def test_a_spec_in_another_order_still_gives_the_asked_for_gpu(
    doctor: Doctor, amd_nodes: None, cdi_folder: Path, image: str
) -> None:
    swapped = (("0", TWO[1][1]), ("1", TWO[0][1]))
    (cdi_folder / "amd.json").write_text(spec(*swapped))
    done = doctor("--engine", "docker", "--gpus", "1", *PLAIN, image, "--", *SEE)
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}


def test_a_stale_spec_is_said_and_nodes_are_taken(
    doctor: Doctor, amd_nodes: None, cdi_folder: Path, image: str
) -> None:
    gone = ("0", ["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card7"])
    (cdi_folder / "amd.json").write_text(spec(gone, TWO[1]))
    done = doctor("--engine", "docker", "--gpus", "0", *PLAIN, image, "--", *SEE)
    assert "note: /etc/cdi/amd.json is stale: it names /dev/dri/card7, which is not there" in done.stderr
    assert "amd-ctk cdi generate" in done.stderr
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD128": MAY}
    by_cdi = doctor("--engine", "docker", "--by", "cdi", "--gpus", "0", image, "--", "true")
    assert (by_cdi.returncode, "missing: /etc/cdi/amd.json is stale" in by_cdi.stderr) == (2, True)


def test_a_node_that_is_missing_is_said_and_nothing_starts(doctor: Doctor, image: str) -> None:
    done = doctor("--engine", "docker", image, "--", "echo", "started")
    assert (done.returncode, done.stdout) == (2, "")
    assert "doctor: missing: /dev/kfd is not there" in done.stderr


def test_podman_by_nodes(doctor: Doctor, amd_nodes: None, podman: dict[str, str], image: str) -> None:
    done = doctor("--engine", "podman", "--gpus", "1", *PLAIN, image, "--", *SEE, env=podman)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}


def test_podman_by_cdi(doctor: Doctor, amd_nodes: None, cdi_folder: Path, podman: dict[str, str], image: str) -> None:
    (cdi_folder / "amd.json").write_text(spec(*TWO, version="0.5.0", gid=992))
    done = doctor("--engine", "podman", "--gpus", "1", "--by", "cdi", *PLAIN, image, "--", *SEE, env=podman)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}


def test_podman_4_can_not_read_a_newer_spec(
    doctor: Doctor, amd_nodes: None, cdi_folder: Path, podman: dict[str, str], image: str
) -> None:
    """Said before it starts, and true: podman itself refuses the same spec."""
    if not run("podman", "--version").stdout.startswith("podman version 4.3"):
        pytest.skip("podman 4.3 refuses specs after 0.5.0; this is another")
    (cdi_folder / "amd.json").write_text(spec(*TWO, version="0.6.0"))
    done = doctor("--engine", "podman", "--gpus", "1", *PLAIN, image, "--", *SEE, env=podman)
    assert "is of CDI 0.6.0; podman 4.3.1 reads up to 0.5.0" in done.stderr
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}
    argv = ["podman", "run", "--rm", "--device", "amd.com/gpu=1", image, "true"]
    refused = subprocess.run(argv, capture_output=True, text=True, env=podman, timeout=60, check=False)
    assert refused.returncode != 0


@pytest.mark.parametrize("by", ["nodes", "cdi"])
def test_compose(doctor: Doctor, amd_nodes: None, cdi_folder: Path, image: str, tmp_path: Path, by: str) -> None:
    if run("docker", "compose", "version").returncode:
        pytest.skip("no docker compose here")
    (cdi_folder / "amd.json").write_text(spec(*TWO))
    flags = ["--engine", "docker", "--gpus", "1", "--by", by, "--emit", "compose", "-e", "PRICE=$5 $${X} ${HOME}"]
    shown = doctor(*flags, *PLAIN, image, "--", "python3", "-c", f"import os; print(os.environ['PRICE']){LOOK}")
    assert shown.returncode == 0, shown.stderr
    (tmp_path / "compose.yaml").write_text(shown.stdout)
    name = next(iter(yaml.safe_load(shown.stdout)["services"]))
    argv = ["docker", "compose", "-f", str(tmp_path / "compose.yaml"), "-p", f"doctor-test-{os.getpid()}"]
    try:
        done = run(*argv, "run", "--rm", "-T", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == "$5 $${X} ${HOME}"
        assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD129": MAY}
    finally:
        run(*argv, "down", "--remove-orphans")


def test_what_is_printed_is_what_runs(doctor: Doctor, amd_nodes: None, image: str) -> None:
    shown = doctor("--engine", "docker", "--gpus", "0", *PLAIN, "--print", image, "--", *SEE)
    done = run("bash", "-c", shown.stdout)
    assert seen(done.stdout) == {"/dev/kfd": MAY, "/dev/dri/renderD128": MAY}


def test_a_profile_whose_image_is_not_here_is_not_looked_for_in_a_registry(doctor: Doctor, amd_nodes: None) -> None:
    done = doctor("--engine", "docker", "mi300x+rocm7.2+train", "--", "true")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "doctor: doctor/mi300x-rocm7.2-train: no image of that profile is here"
    )


def test_a_profile_s_image_runs_with_what_its_workload_needs(doctor: Doctor, amd_nodes: None, image: str) -> None:
    named = "doctor/mi300x-rocm7.2-train"
    assert run("docker", "tag", image, named).returncode == 0
    try:
        done = doctor("--engine", "docker", "mi300x+rocm7.2+train", "--", "df", "--output=size", "-k", "/dev/shm")
        assert (done.returncode, done.stdout.split()[-1]) == (0, str(8 << 20)), done.stderr
    finally:
        run("docker", "rmi", named)


def test_rdma_passes_the_verbs_and_not_the_management(
    doctor: Doctor, amd_nodes: None, image: str, infiniband: None
) -> None:
    done = doctor("--engine", "docker", "--gpus", "0", "--with", "rdma", image, "--", *SEE)
    assert done.returncode == 0, done.stderr
    kfd = {"/dev/kfd": MAY, "/dev/dri/renderD128": MAY}
    assert seen(done.stdout) == {**kfd, "/dev/infiniband/uverbs0": MAY}


@pytest.fixture
def infiniband() -> Iterator[None]:
    """A verbs node and one that manages the fabric."""
    folder = Path("/dev/infiniband")
    if folder.exists():
        pytest.skip("this machine has RDMA devices")
    folder.mkdir()
    try:
        for name, minor in (("uverbs0", 250), ("umad0", 251), ("rdma_cm", 252)):
            os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(231, minor))
        yield
    finally:
        shutil.rmtree(folder)


def test_the_exit_code_and_both_streams_are_the_command_s(doctor: Doctor, amd_nodes: None, image: str) -> None:
    done = doctor("--engine", "docker", image, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (7, "out\n", "err")


def test_what_is_piped_in_reaches_the_command(mi300x_sys: Path, engine: str, amd_nodes: None, image: str) -> None:
    argv = words(mi300x_sys, "--engine", "docker", image, "--", "cat")
    done = subprocess.run(argv, input="piped\n", capture_output=True, text=True, timeout=60, cwd=REPO, check=False)
    assert done.stdout == "piped\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(
    mi300x_sys: Path, engine: str, amd_nodes: None, image: str, number: signal.Signals
) -> None:
    script = "trap 'echo INT; exit 41' INT; trap 'echo TERM; exit 42' TERM; echo ready; while :; do sleep 0.1; done"
    argv = words(mi300x_sys, "--engine", "docker", image, "--", "sh", "-c", script)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=REPO, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        said = process.stdout.read()
        code = process.wait(timeout=30)
    assert (said, code) == {signal.SIGINT: ("INT\n", 41), signal.SIGTERM: ("TERM\n", 42)}[number]


def test_the_terminal_is_the_command_s(mi300x_sys: Path, engine: str, amd_nodes: None, image: str) -> None:
    """With a terminal on both sides the command has one too, of its size, and typed keys reach it: ^C ends it."""
    script = "test -t 0 && test -t 1 && echo tty; read line; echo got $line; sleep 60"
    argv = words(mi300x_sys, "--engine", "docker", image, "--", "sh", "-c", script)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(REPO)
        os.execvp(argv[0], argv)
    try:
        assert "tty" in _until(terminal, "tty")
        os.write(terminal, b"typed\n")
        assert "got typed" in _until(terminal, "got typed")
        os.write(terminal, b"\x03")
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130


def _until(terminal: int, wanted: str) -> str:
    """What the terminal showed until it showed `wanted`; a minute at most."""
    shown, end = "", time.monotonic() + 60
    while wanted not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown
