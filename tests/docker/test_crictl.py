"""`check --in POD` with containerd's CRI plugin and crictl: pods as kubelet starts them, judged from their node.

A containerd of its own runs at the usual socket, with a pause image and the ROCm image. Where no crictl is installed
(Debian has none; it is built from kubernetes-sigs/cri-tools) these tests skip, and only they.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import REPO, run, unmet
from tests.docker.test_containers import RENDER_GID, node_folder
from tests.docker.test_inside import checked, raised

pytestmark = pytest.mark.engine
_ = node_folder  # a fixture of the neighbour
SOCKET = Path("/run/containerd/containerd.sock")
CONFIG = """version = 2
root = "{root}/root"
state = "{root}/state"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/doctor-test-pause:1"
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{root}/cni"
"""
Pod = Callable[..., str]


def ctl(*words: str) -> str:
    done = run(
        "crictl",
        "--timeout",
        "60s",
        "--runtime-endpoint",
        f"unix://{SOCKET}",
        "--image-endpoint",
        f"unix://{SOCKET}",
        *words,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def runtime(engine: str, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A containerd with its CRI plugin, which holds the image under the name that is returned."""
    if not shutil.which("crictl"):
        pytest.skip("no crictl: Debian has no package of it")
    if os.geteuid() or not shutil.which("containerd") or not shutil.which("busybox"):
        unmet("containerd of its own needs root, containerd and busybox")
    if SOCKET.exists() or Path("/etc/crictl.yaml").exists():
        pytest.skip("this machine has a container runtime of its own")
    root = tmp_path_factory.mktemp("cri")
    pause = root / "pause"
    (pause / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", pause / "bin/busybox")
    (pause / "bin/sleep").symlink_to("busybox")
    with subprocess.Popen(["tar", "-C", str(pause), "-c", "."], stdout=subprocess.PIPE) as tar:
        entry = ['ENTRYPOINT ["/bin/sleep", "86400"]', "-", "localhost/doctor-test-pause:1"]
        subprocess.run([engine, "import", "--change", *entry], stdin=tar.stdout, check=True, capture_output=True)
    saved = root / "images.tar"
    subprocess.run([engine, "save", "-o", str(saved), "localhost/doctor-test-pause:1", image], check=True, timeout=300)
    (root / "config.toml").write_text(CONFIG.format(root=root, socket=SOCKET))
    made = not SOCKET.parent.exists()
    with (root / "log").open("w") as log:
        daemon = subprocess.Popen(["containerd", "-c", str(root / "config.toml")], stdout=log, stderr=log)
    try:
        for _ in range(100):
            if SOCKET.exists() and run("ctr", "-a", str(SOCKET), "version").returncode == 0:
                break
            time.sleep(0.1)
        done = run("ctr", "-a", str(SOCKET), "-n", "k8s.io", "images", "import", str(saved), timeout=300)
        assert done.returncode == 0, done.stderr + (root / "log").read_text()[-2000:]
        saved.unlink()
        yield f"docker.io/{image}"
        ctl("rmp", "-af")
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)
        SOCKET.unlink(missing_ok=True)
        for mount in sorted(root.glob("state/**/rootfs"), reverse=True):
            subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)
        if made:
            shutil.rmtree(SOCKET.parent, ignore_errors=True)


@pytest.fixture
def pod(runtime: str, tmp_path: Path) -> Iterator[Pod]:
    """`pod(name, *containers)` is the pod's id; each container is (its name, what its configuration adds)."""
    made = []

    def start(name: str, *containers: tuple[str, dict[str, Any]], namespace: str = "default") -> str:
        labels = {"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": namespace}
        sandbox = {
            "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "attempt": 1},
            "labels": labels,
            "log_directory": str(tmp_path),
            "linux": {"security_context": {"namespace_options": {"network": 2}}},  # the node's network: no CNI needed
        }
        (tmp_path / "pod.json").write_text(json.dumps(sandbox))
        one = ctl("runp", str(tmp_path / "pod.json"))
        made.append(one)
        for called, more in containers or (("train", {}),):
            config = {
                "metadata": {"name": called},
                "labels": labels | {"io.kubernetes.container.name": called},
                "image": {"image": runtime},
                "command": ["sleep", "300"],
                "log_path": f"{called}.log",
                "linux": {},
            }
            (tmp_path / "container.json").write_text(json.dumps(config | more))
            ctl("start", ctl("create", one, str(tmp_path / "container.json"), str(tmp_path / "pod.json")))
        return one

    yield start
    for one in made:
        ctl("rmp", "-f", one)


def plain_user(folder: Path, **more: Any) -> dict[str, Any]:
    """AMD's nodes as devices, for an account that is not root."""
    devices = [
        {"container_path": inside, "host_path": f"{folder}/{name}", "permissions": "rw"}
        for name, inside in (("kfd", "/dev/kfd"), ("renderD128", "/dev/dri/renderD128"))
    ]
    account = {"run_as_user": {"value": 1000}, "run_as_group": {"value": 1000}, **more}
    return {"devices": devices, "linux": {"security_context": account}}


def finding(told: dict[str, Any], rule: str) -> dict[str, Any]:
    [found] = [f for f in told["findings"] if f["rule"] == rule]
    return dict(found)


def test_a_pod_without_devices_is_told_to_ask_for_them(pod: Pod, mi300x_sys: Path) -> None:
    pod("train-0")
    told = checked(mi300x_sys, "--in", "train-0")
    assert raised(told)[0] == "container-missing-gpu-passthrough"
    assert "amd.com/gpu" in finding(told, "container-missing-gpu-passthrough")["remedies"][0]["steps"][0]["text"]
    assert told["snapshot"]["container"]["engine"] == "kubernetes"
    assert told["snapshot"]["amdgpu_driver"]["loaded"] is True
    assert "container-shm-too-small" in raised(told, "info")  # the runtime's 64 MiB for each pod


def test_a_gid_that_the_pod_lacks(pod: Pod, mi300x_sys: Path, node_folder: Path) -> None:
    pod("train-1", ("train", plain_user(node_folder)))
    told = checked(mi300x_sys, "--in", "crictl:train-1/train")
    assert raised(told)[0] == "container-render-group-mismatch"
    fix = finding(told, "container-render-group-mismatch")["remedies"][0]["steps"][0]["text"]
    assert f"supplementalGroups: [{RENDER_GID}]" in fix
    pod("train-2", ("train", plain_user(node_folder, supplemental_groups=[RENDER_GID])))
    assert "container-render-group-mismatch" not in raised(checked(mi300x_sys, "--in", "default/train-2/train"))


def test_a_node_that_is_mounted_as_a_file_is_refused_by_the_device_cgroup(
    pod: Pod, mi300x_sys: Path, node_folder: Path
) -> None:
    for node in node_folder.iterdir():
        node.chmod(0o666)
    places = (("kfd", "/dev/kfd"), ("renderD128", "/dev/dri/renderD128"))
    mounts = [{"container_path": inside, "host_path": f"{node_folder}/{name}"} for name, inside in places]
    pod("train-3", ("train", {"mounts": mounts}))
    told = checked(mi300x_sys, "--in", "train-3")
    assert {n["key"]: n["open_error"] for n in told["snapshot"]["nodes"]}["/dev/kfd"] == "EPERM"
    assert raised(told)[0] == "container-device-cgroup-denied"


def test_the_runtimes_own_seccomp_profile_closes_numa_calls(pod: Pod, mi300x_sys: Path) -> None:
    closed = {"linux": {"security_context": {"seccomp": {"profile_type": 0}}}}
    opened = {"linux": {"security_context": {"seccomp": {"profile_type": 1}}}}
    pod("train-4", ("closed", closed), ("opened", opened))
    boxes = {one: checked(mi300x_sys, "--in", f"train-4/{one}") for one in ("closed", "opened")}
    assert boxes["closed"]["snapshot"]["container"]["mempolicy"] == "refused"
    assert "container-security-profile" in raised(boxes["closed"], "info")
    assert boxes["opened"]["snapshot"]["container"]["seccomp"] == "off"
    assert "container-security-profile" not in raised(boxes["opened"], "info")


def refusal(name: str) -> str:
    argv = [sys.executable, "-m", "doctor", "check", "--in", name]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=REPO, check=False)
    assert done.returncode == 2
    return done.stderr


def test_of_several_containers_one_is_to_be_named(pod: Pod) -> None:
    one = pod("train-5", ("train", {}), ("exporter", {}))
    for name in ("crictl:train-5", f"crictl:{one[:13]}"):
        assert "say which: default/train-5/exporter, default/train-5/train" in refusal(name)


def test_a_pod_that_does_not_run_is_one_clear_line(runtime: str) -> None:
    assert runtime
    expected = "doctor: --in 'train-9': found no running container of that name (crictl: none runs by that name)"
    assert refusal("crictl:train-9") == f"{expected}\n"
