"""A real API server, with etcd and nothing else: it takes the emitted manifests, and says what `--kube` reads.

No package registry has a kube-apiserver; Debian's source package `kubernetes` builds one (docs/slow-tier.md). The tests
run where it is in PATH.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import REPO
from tests.docker.slurm import free_port
from tests.fleet.test_verdict import node

pytestmark = pytest.mark.engine
PROGRAMS = ("kube-apiserver", "etcd", "kubectl", "openssl")
Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    if absent:
        pytest.skip(f"{', '.join(absent)} not found")
    folder = tmp_path_factory.mktemp("kubernetes")
    client, peer, secure = (free_port() for _ in range(3))
    store = [f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"]
    key = str(folder / "key")
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True, timeout=60)
    (folder / "tokens").write_text("secret,admin,admin,system:masters\n")
    etcd = ["etcd", "--data-dir", str(folder / "etcd"),
            "--listen-client-urls", store[0], "--listen-peer-urls", store[1],
            "--advertise-client-urls", store[0], "--initial-advertise-peer-urls", store[1],
            "--initial-cluster", f"default={store[1]}"]  # fmt: skip
    server = ["kube-apiserver", "--etcd-servers", store[0], "--bind-address", "127.0.0.1", "--secure-port", str(secure),
              "--cert-dir", str(folder / "certs"), "--token-auth-file", str(folder / "tokens"),
              "--authorization-mode", "RBAC", "--service-account-issuer", "test", "--service-account-key-file", key,
              "--service-account-signing-key-file", key, "--service-cluster-ip-range", "10.0.0.0/24",
              "--disable-admission-plugins", "ServiceAccount"]  # fmt: skip
    ask = ["kubectl", "--server", f"https://127.0.0.1:{secure}", "--insecure-skip-tls-verify", "--token", "secret"]

    def asked(*argv: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run([*ask, *argv], input=given, capture_output=True, text=True, timeout=60)

    with (folder / "log").open("wb") as log:
        started = [subprocess.Popen(argv, stdout=log, stderr=log) for argv in (etcd, server)]
        try:
            end = time.monotonic() + 90
            while asked("get", "--raw", "/readyz").stdout != "ok":
                assert time.monotonic() < end, (folder / "log").read_text()[-1500:]
                time.sleep(0.5)
            yield asked
        finally:
            for program in started:
                program.kill()
                program.wait()


def emitted(*more: str) -> str:
    argv = [sys.executable, "-m", "doctor", "fleet", "check", "--emit", *more, "--image", "registry.example/doctor:1"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, cwd=REPO, timeout=60).stdout


@pytest.mark.parametrize(
    "more",
    [
        ("kubernetes-daemonset",),
        ("kubernetes-daemonset", "--node-label", "nvidia.com/gpu.present=true"),
        ("kubernetes-job", "--nodes", "n[1-3]"),
    ],
)
def test_the_server_takes_the_manifest_and_refuses_a_broken_one(kubectl: Kubectl, more: tuple[str, ...]) -> None:
    text = emitted(*more)
    accepted = kubectl("apply", "--dry-run=server", "-f", "-", given=text)
    assert "created (server dry run)" in accepted.stdout, accepted.stderr
    policy = "Always" if "daemonset" in more[0] else "Never"
    broken = text.replace(f"restartPolicy: {policy}", "restartPolicy: Sometimes")
    refused = kubectl("apply", "--dry-run=server", "-f", "-", given=broken)
    assert refused.returncode == 1
    assert 'Unsupported value: "Sometimes"' in refused.stderr


def test_what_the_server_says_of_a_node_is_compared_with_its_report(kubectl: Kubectl, tmp_path: Path) -> None:
    made = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "spec": {"unschedulable": True},
        "status": {"capacity": {"nvidia.com/gpu": "8"}},
    }
    assert kubectl("create", "-f", "-", given=json.dumps(made)).returncode == 0
    (tmp_path / "nodes.json").write_text(kubectl("get", "nodes", "-A", "-o", "json").stdout)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "n1.json").write_text(json.dumps(node()))
    argv = [sys.executable, "-m", "doctor", "fleet", "report", str(tmp_path / "reports"), "--format", "json",
            "--kube", str(tmp_path / "nodes.json")]  # fmt: skip
    compared = json.loads(subprocess.run(argv, capture_output=True, text=True, cwd=REPO, timeout=60).stdout)
    assert compared["disagreements"] == [
        "n1: Kubernetes counts 8 GPUs, the node has 2",
        "n1: Kubernetes says cordoned, and no problem was found on the node",
    ]
