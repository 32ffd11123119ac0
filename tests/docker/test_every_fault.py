"""Each fault that an engine can make, with docker and with podman: named from inside, and by `--in` from the host.

The host is a machine with two MI300X on two NUMA nodes (a mount namespace, or a mount in the container, puts its sysfs
there); engines, containers, device cgroups, limits, seccomp filters and CDI are real.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import REPO, run, unmet
from tests.docker.gpu_nodes import amd_nodes, cdi_folder, nvidia_nodes, podman
from tests.docker.test_containers import CHECK, RENDER_GID, node_folder, passed
from tests.docker.test_inside import checked
from tests.probes import amd_trees

pytestmark = pytest.mark.engine
_ = amd_nodes, cdi_folder, nvidia_nodes, node_folder, podman  # fixtures
Report = dict[str, Any]
Engine = Callable[..., "tuple[Report, Report]"]
LIMITS = {"nproc": "1024:1024", "nofile": "1025:1025"}
"""Podman's defaults are above what an account in a container of its own may set."""


def limits(engine: str, flags: Sequence[str] = ()) -> list[str]:
    """Options for podman, less what the flags set themselves."""
    if engine != "podman":
        return []
    rest = {name: value for name, value in LIMITS.items() if not any(f.startswith(f"{name}=") for f in flags)}
    return [word for name, value in rest.items() for word in ("--ulimit", f"{name}={value}")]


@pytest.fixture
def two_nodes(mi300x_sys: Path) -> Path:
    """That sysfs with the second GPU on a NUMA node of its own."""
    for number in (0, 1):
        (mi300x_sys / f"devices/system/node/node{number}").mkdir(parents=True)
    (mi300x_sys / "devices/pci0000:3c/0000:3c:01.1/0000:3d:00.0/numa_node").write_text("1\n")
    return mi300x_sys


@pytest.fixture(params=["docker", "podman"])
def both(
    request: pytest.FixtureRequest, image: str, installed: Path, two_nodes: Path, podman: dict[str, str]
) -> Iterator[Engine]:
    """`both(*flags)`: what the doctor says inside of a container with these flags, and of one from its host."""
    engine: str = request.param
    environ = podman if engine == "podman" else dict(os.environ)
    named = f"docker.io/{image}" if engine == "podman" else image
    names: list[str] = []

    def started(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [engine, "run", "--rm", "--network=none", *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, env=environ, check=False)

    def of(*flags: str) -> tuple[Report, Report]:
        own = limits(engine, flags)
        mounts = ["-v", f"{two_nodes}:/sys:ro", "-v", f"{installed}:/opt/doctor:ro", "-e", "PYTHONPATH=/opt/doctor"]
        inside = started(*mounts, *own, *flags, named, *CHECK)
        assert inside.returncode in (0, 1), inside.stderr
        names.append(f"doctor-test-{uuid.uuid4().hex[:12]}")
        begun = started("-d", "--name", names[-1], *own, *flags, named, "sleep", "300")
        assert begun.returncode == 0, begun.stderr
        return json.loads(inside.stdout), checked(two_nodes, "--in", f"{engine}:{names[-1]}")

    yield of
    for name in names:
        subprocess.run([engine, "kill", name], capture_output=True, env=environ, check=False)  # started with --rm


def told(report: Report, rule: str) -> list[tuple[str, str]]:
    return [(f["severity"], f["summary"]) for f in report["findings"] if f["rule"] == rule]


def first(report: Report) -> str:
    return str(next(f["rule"] for f in report["findings"] if f["severity"] == "error" and not f["explained_by"]))


def test_no_devices(both: Engine) -> None:
    assert [first(report) for report in both()] == ["container-missing-gpu-passthrough"] * 2


def test_a_gid_that_the_account_lacks(both: Engine, node_folder: Path) -> None:
    for report in both(*passed(node_folder), "--user", "1000:1000"):
        assert first(report) == "container-render-group-mismatch"
        assert str(RENDER_GID) in told(report, "container-render-group-mismatch")[0][1]


def test_a_node_that_the_device_cgroup_refuses(both: Engine, node_folder: Path) -> None:
    for node in node_folder.iterdir():
        node.chmod(0o666)
    volumes = ["-v", f"{node_folder}/kfd:/dev/kfd", "-v", f"{node_folder}/renderD128:/dev/dri/renderD128"]
    for report in both(*volumes, "--user", "1000:1000"):
        seen = {n["key"]: n["open_error"] for n in report["snapshot"]["nodes"]}
        assert seen["/dev/kfd"] == "EPERM", report["snapshot"]["origins"].get("nodes[/dev/kfd].openable")
        assert first(report) == "container-device-cgroup-denied"


def test_small_shm_low_memlock_and_few_files(both: Engine, node_folder: Path) -> None:
    flags = ["--shm-size", "1m", "--ulimit", "memlock=65536:65536", "--ulimit", "nofile=64:64"]
    for report in both(*passed(node_folder), *flags):
        assert told(report, "container-shm-too-small")[0][1].startswith("/dev/shm holds 1 MiB in this container")
        assert told(report, "memlock-limit-too-low")[0][1].startswith("The locked-memory limit (64 KiB) is")
        assert told(report, "nofile-limit-too-low") == [("info", "The open-files limit (64) is low.")]


def test_roomy_limits_are_not_named(both: Engine, node_folder: Path) -> None:
    """The memlock limit is the kernel's own default, and that of this account where it may have no more."""
    memlock = min(resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] % (1 << 64), 8 << 20)
    if memlock < 8 << 20:
        unmet("this account may not lock 8 MiB")
    flags = ["--shm-size", "128m", "--ulimit", f"memlock={memlock}:{memlock}", "--ulimit", "nofile=4096:4096"]
    for report in both(*passed(node_folder), *flags):
        for rule in ("container-shm-too-small", "memlock-limit-too-low", "nofile-limit-too-low"):
            assert told(report, rule) == []


def test_seccomp_that_blocks_mempolicy(both: Engine, node_folder: Path, tmp_path: Path) -> None:
    """A profile that refuses these calls alone, with the capability that would open them in the engine's own."""
    refused = {"names": ["set_mempolicy", "mbind"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}
    profile = tmp_path / "no-numa.json"
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [refused]}))
    summary = "The container's seccomp profile blocks NUMA binding (numactl, set_mempolicy)."
    for report in both(*passed(node_folder), "--cap-add", "SYS_NICE", "--security-opt", f"seccomp={profile}"):
        assert report["snapshot"]["container"]["mempolicy"] == "refused"
        assert told(report, "container-security-profile") == [("info", summary)]


def test_the_engines_own_profile_with_and_without_the_capability(both: Engine, node_folder: Path) -> None:
    """Docker's closes these calls, podman's does not."""
    for report in both(*passed(node_folder)):
        closed = report["snapshot"]["container"]["engine"] == "docker"
        assert len(told(report, "container-security-profile")) == int(closed)
    for report in both(*passed(node_folder), "--cap-add", "SYS_NICE"):
        assert told(report, "container-security-profile") == []


NVIDIA_ROOT = (
    'mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup" && mount --rbind "$1/sys" /sys &&'
    ' mount --bind "$1/proc/driver" /proc/driver && shift && exec "$@"'
)


@pytest.fixture
def nvidia_host(tmp_path: Path) -> Callable[..., Report]:
    """`nvidia_host(version, *words)`: the check on a host with an H100 whose loaded driver has that version."""

    def check(version: str, *words: str) -> Report:
        root = tmp_path / version
        if not root.exists():
            place = "pci0000:1a/0000:1a:01.1/0000:1b:00.0"
            names = {"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "numa_node": "0", "revision": "0xa1"}
            amd_trees.pci_device(root, place, "nvidia", **names)
            (root / "sys/fs/cgroup").mkdir(parents=True)
            line = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (root@host)\n"
            amd_trees.write(root, {"proc/driver/nvidia/version": line, "sys/module/nvidia/version": f"{version}\n"})
        argv = ["unshare", "-m", "sh", "-c", NVIDIA_ROOT, "sh", str(root), sys.executable, "-m", "doctor", "check"]
        done = subprocess.run(
            [*argv, "--format", "json", *words], capture_output=True, text=True, timeout=90, cwd=REPO, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        report: Report = json.loads(done.stdout)
        return report

    return check


@pytest.mark.parametrize("engine_name", ["docker", "podman"])
def test_a_cdi_spec_of_the_driver_before(
    engine_name: str,
    image: str,
    podman: dict[str, str],
    nvidia_nodes: None,
    cdi_folder: Path,
    nvidia_host: Callable[..., Report],
) -> None:
    """A container is started by CDI; then the driver is updated and the spec is not. It is named on the host before
    anybody starts another container, and of the running one by `--in`; the engine itself says no from then on."""
    library = cdi_folder / "libcuda.so.570.86.15"
    library.write_text("a library")
    mount = {"hostPath": str(library), "containerPath": "/usr/lib/libcuda.so.570.86.15", "options": ["ro", "bind"]}
    nodes = [{"path": f"/dev/{name}"} for name in ("nvidia0", "nvidiactl", "nvidia-uvm")]
    edits = {"deviceNodes": nodes, "mounts": [mount]}
    spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "all", "containerEdits": edits}]}
    (cdi_folder / "nvidia.json").write_text(json.dumps(spec))
    named = f"docker.io/{image}" if engine_name == "podman" else image
    name = f"doctor-test-{uuid.uuid4().hex[:12]}"
    words = [engine_name, "run", "--rm", "--network=none", "--device", "nvidia.com/gpu=all"]
    more = limits(engine_name)
    begun = run(*words, *more, "-d", "--name", name, named, "sleep", "300")
    assert begun.returncode == 0, begun.stderr
    try:
        fresh = nvidia_host("570.86.15", "--in", f"{engine_name}:{name}")
        assert told(fresh, "cdi-spec-missing-or-stale") == []
        library.unlink()
        expected = "The CDI spec /etc/cdi/nvidia.json is for driver 570.86.15, but 580.65.06 is loaded."
        for words_in in ((), ("--in", f"{engine_name}:{name}")):
            report = nvidia_host("580.65.06", *words_in)
            assert told(report, "cdi-spec-missing-or-stale") == [("warning", expected)]
        again = run(*words, *more, named, "true")
        assert again.returncode != 0
    finally:
        run(engine_name, "kill", name)


def test_a_cdi_spec_that_names_a_node_which_is_gone(
    image: str, amd_nodes: None, cdi_folder: Path, mi300x_sys: Path
) -> None:
    """AMD's spec names nodes alone: after a GPU was taken out, or partitions changed, one of them is not there."""
    nodes = [{"path": "/dev/kfd"}, {"path": "/dev/dri/renderD129"}]
    devices = [{"name": "all", "containerEdits": {"deviceNodes": nodes}}]
    (cdi_folder / "amd.json").write_text(json.dumps({"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": devices}))
    assert told(checked(mi300x_sys), "cdi-spec-missing-or-stale") == []
    gone = Path("/dev/dri/renderD129")
    held = gone.stat()
    gone.unlink()
    try:
        expected = "The CDI spec /etc/cdi/amd.json lists /dev/dri/renderD129, which does not exist."
        assert told(checked(mi300x_sys), "cdi-spec-missing-or-stale") == [("warning", expected)]
        refused = run("docker", "run", "--rm", "--device", "amd.com/gpu=all", image, "true")
        assert refused.returncode != 0
    finally:
        os.mknod(gone, held.st_mode, held.st_rdev)
