"""`check --in CONTAINER` from the host: what is inside is joined with the host's driver, so the fault has an owner.

The host's sysfs is that of a machine with two MI300X (a mount namespace puts it there); engine, containers, device
cgroup and opens are real.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import REPO, run, unmet
from tests.docker.test_containers import RENDER_GID, node_folder, passed

pytestmark = pytest.mark.engine
Started = Callable[..., str]
_ = node_folder  # a fixture of the neighbour

ENTER = 'mount --rbind /sys/fs/cgroup "$1/fs/cgroup" && mount --rbind "$1" /sys && shift && exec "$@"'
"""The control groups stay the machine's: podman enters them itself where it runs something in a container."""


@pytest.fixture
def started(engine: str, image: str) -> Iterator[Started]:
    """`started(*flags)` is the name of a container that sleeps."""
    names = []

    def start(*flags: str) -> str:
        name = f"doctor-test-{uuid.uuid4().hex[:12]}"
        done = run(engine, "run", "-d", "--rm", "--name", name, "--network=none", *flags, image, "sleep", "300")
        assert done.returncode == 0, done.stderr
        names.append(name)
        return name

    yield start
    for name in names:
        run(engine, "rm", "-f", name)


def checked(sys_folder: Path, *words: str) -> dict[str, Any]:
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        unmet("a mount namespace needs root")
    argv = ["unshare", "-m", "sh", "-c", ENTER, "sh", str(sys_folder)]
    argv += [sys.executable, "-m", "doctor", "check", "--format", "json", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, cwd=REPO, check=False)
    assert done.returncode in (0, 1), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def raised(told: dict[str, Any], *severities: str) -> list[str]:
    return [
        f["rule"] for f in told["findings"] if f["severity"] in (severities or ("error",)) and not f["explained_by"]
    ]


def test_no_devices_is_the_containers_fault_and_not_the_hosts(started: Started, mi300x_sys: Path) -> None:
    told = checked(mi300x_sys, "--in", started())
    assert raised(told)[0] == "container-missing-gpu-passthrough"
    assert told["snapshot"]["amdgpu_driver"]["loaded"] is True
    assert told["snapshot"]["container"]["inside"] is True


def test_passed_and_not_permitted_names_the_gid(started: Started, mi300x_sys: Path, node_folder: Path) -> None:
    told = checked(mi300x_sys, "--in", started(*passed(node_folder), "--user", "1000:1000"))
    assert raised(told)[0] == "container-render-group-mismatch"
    assert told["snapshot"]["account"]["uid"] == 1000
    assert {n["key"]: n["open_error"] for n in told["snapshot"]["nodes"]}["/dev/kfd"] == "EACCES"


def test_the_gid_by_number_mends_it(started: Started, mi300x_sys: Path, node_folder: Path) -> None:
    name = started(*passed(node_folder), "--user", "1000:1000", "--group-add", str(RENDER_GID))
    assert "container-render-group-mismatch" not in raised(checked(mi300x_sys, "--in", name))


def test_a_node_that_the_device_cgroup_refuses(started: Started, mi300x_sys: Path, node_folder: Path) -> None:
    for node in node_folder.iterdir():
        node.chmod(0o666)
    volumes = ["-v", f"{node_folder}/kfd:/dev/kfd", "-v", f"{node_folder}/renderD128:/dev/dri/renderD128"]
    told = checked(mi300x_sys, "--in", started(*volumes, "--user", "1000:1000"))
    assert {n["key"]: n["open_error"] for n in told["snapshot"]["nodes"]}["/dev/kfd"] == "EPERM"
    assert raised(told)[0] == "container-device-cgroup-denied"


def test_limits_and_environment_are_the_containers_own(started: Started, mi300x_sys: Path) -> None:
    flags = ["--shm-size", "1m", "--ulimit", "memlock=65536:65536", "--ulimit", "nofile=64:64"]
    told = checked(mi300x_sys, "--in", started(*flags, "-e", "HIP_VISIBLE_DEVICES=7"))
    host = told["snapshot"]["host"]
    assert (host["shm_bytes"], host["memlock_bytes"], host["nofile"]) == (1 << 20, 65536, 64)
    assert told["snapshot"]["environment"]["HIP_VISIBLE_DEVICES"] == "7"
    assert "visible-devices-conflict" in raised(told, "error", "warning")


def test_a_seccomp_filter_that_closes_numa_calls_is_a_remark(started: Started, mi300x_sys: Path) -> None:
    closed = checked(mi300x_sys, "--in", started())["snapshot"]["container"]
    opened = checked(mi300x_sys, "--in", started("--cap-add", "SYS_NICE"))["snapshot"]["container"]
    bare = checked(mi300x_sys, "--in", started("--security-opt", "seccomp=unconfined"))["snapshot"]["container"]
    assert (closed["seccomp"], "SYS_NICE" in closed["capabilities"]) == ("filter", False)
    assert (opened["seccomp"], "SYS_NICE" in opened["capabilities"]) == ("filter", True)
    assert bare["seccomp"] == "off"


def test_the_first_process_by_its_pid_tells_the_same(started: Started, mi300x_sys: Path, node_folder: Path) -> None:
    name = started(*passed(node_folder), "--user", "1000:1000")
    pid = run("docker", "inspect", "--format", "{{.State.Pid}}", name).stdout.strip()
    told = checked(mi300x_sys, "--pid", pid)
    assert told["snapshot"]["process"]["name"] == "sleep"
    assert told["snapshot"]["account"]["uid"] == 1000
    assert raised(told)[0] == "container-render-group-mismatch"


def test_a_container_that_does_not_run_is_one_clear_line(engine: str) -> None:
    argv = [sys.executable, "-m", "doctor", "check", "--in", "doctor-test-none"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=REPO, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("doctor: --in 'doctor-test-none': found no running container")
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture(scope="session")
def podman_image(engine: str, image: str) -> str:
    """The same image in podman's own store."""
    if not shutil.which("podman"):
        unmet("podman is not installed")
    named = f"docker.io/{image}"
    if run("podman", "image", "exists", named).returncode:
        with subprocess.Popen([engine, "save", image], stdout=subprocess.PIPE) as saved:
            subprocess.run(["podman", "load", "-q"], stdin=saved.stdout, check=True, timeout=300, capture_output=True)
    return named


def test_a_container_of_podman(podman_image: str, mi300x_sys: Path, node_folder: Path) -> None:
    name = f"doctor-test-{uuid.uuid4().hex[:12]}"
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
    flags = ["--network=none", "--user", "1000:1000", *passed(node_folder)]
    done = run("podman", "run", "-d", "--rm", "--name", name, *limits, *flags, podman_image, "sleep", "300")
    assert done.returncode == 0, done.stderr
    try:
        told = checked(mi300x_sys, "--in", f"podman:{name}")
    finally:
        run("podman", "rm", "-f", "-t", "0", name)
    assert told["snapshot"]["container"]["engine"] == "podman"
    assert raised(told)[0] == "container-render-group-mismatch"
