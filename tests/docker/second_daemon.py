"""A daemon of the tests' own beside the machine's, with another configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doctor.system.engine_api import connected
from doctor.system.engine_sockets import Unreachable
from tests.docker.conftest import unmet


@contextmanager
def second_daemon(config: Mapping[str, Any]) -> Iterator[str]:
    """Where it listens. It has no network: a daemon without a bridge takes docker0 away from the other."""
    if os.geteuid() or not shutil.which("dockerd"):
        unmet("a second daemon needs root and dockerd")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o711)  # the root of a remapped container is another account
    (folder / "config.json").write_text(json.dumps(config))
    words = [f"--config-file={folder}/config.json", f"--host=unix://{folder}/docker.sock", f"--pidfile={folder}/pid"]
    words += [f"--data-root={folder}/data", f"--exec-root={folder}/exec", "--storage-driver=vfs", "--bridge=none"]
    words += ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
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
