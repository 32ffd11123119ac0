"""A daemon of the tests' own with Docker's classic image store, where BuildKit writes no OCI archive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.images import engine as engines
from doctor.images import oci
from doctor.images.engine import Request
from doctor.system.engine_api import Api, Unreachable, connected
from tests.docker.conftest import unmet

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def classic(engine: str) -> Iterator[str]:
    """Where it listens."""
    if os.geteuid() or not shutil.which("dockerd"):
        unmet("a second daemon needs root and dockerd")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    (folder / "config.json").write_text(json.dumps({"features": {"containerd-snapshotter": False}}))
    words = [f"--config-file={folder}/config.json", f"--host=unix://{folder}/docker.sock", f"--pidfile={folder}/pid"]
    words += [f"--data-root={folder}/data", f"--exec-root={folder}/exec", "--storage-driver=vfs", "--bridge=none"]
    words += ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
    # In a network of its own: a daemon without a bridge takes docker0 away from the other.
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(["unshare", "--net", "dockerd", *words], stdout=log, stderr=log)
    try:
        for _ in range(300):
            if daemon.poll() is not None or _answers(folder):
                break
            time.sleep(0.1)
        if not _answers(folder):
            unmet(f"no second daemon: {(folder / 'log').read_text(errors='replace')[-300:]}")
        yield f"unix://{folder}/docker.sock"
    finally:
        daemon.terminate()
        daemon.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _answers(folder: Path) -> bool:
    try:
        with connected("docker", {"DOCKER_HOST": f"unix://{folder}/docker.sock"}) as api:
            return bool(api.version())
    except Unreachable:
        return False


@pytest.fixture
def api(classic: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setenv("DOCKER_HOST", classic)  # for buildx
    with connected("docker") as connection:
        yield connection


def test_what_the_classic_store_can_t_is_known_beforehand(api: Api, tmp_path: Path) -> None:
    assert engines.builder(api).exports is False
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    with pytest.raises(engines.BuildFailed, match="OCI exporter is not supported"):
        engines.build(Request(tmp_path, tmp_path / "image.tar", "doctor/classic", 7))


def test_there_an_image_is_built_into_the_engine_and_saved_from_it(api: Api, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /there\n")
    request = Request(tmp_path, tmp_path / "image.tar", "doctor/classic:latest", 7, exports=False)
    engines.build(request)
    api.save(request.tag, request.output)
    image = oci.read(request.output)
    assert [list(oci.entries(image, layer)) for layer in image.layers] == [["there"]]
