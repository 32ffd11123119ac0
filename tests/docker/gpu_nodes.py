"""Device nodes in /dev that stand for GPUs: numbers that no driver serves, so that opening one that is permitted gives
the kernel's ENXIO and one that is not gives EACCES. Made where a machine has none, and removed afterwards."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import run, unmet

RENDER_GID = 992
AMD = {"kfd": (510, 0), "dri/renderD128": (226, 250), "dri/renderD129": (226, 251)}
NVIDIA = {"nvidia0": (195, 250), "nvidia1": (195, 251), "nvidiactl": (195, 252), "nvidia-uvm": (511, 0)}
LOOK = """
import errno, json, os
found = {}
for folder in ("/dev", "/dev/dri", "/dev/infiniband"):
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.startswith(("kfd", "render", "card", "nvidia", "uverbs", "umad")):
            try:
                os.close(os.open(f"{folder}/{name}", os.O_RDWR))
                found[f"{folder}/{name}"] = "ok"
            except OSError as error:
                found[f"{folder}/{name}"] = errno.errorcode[error.errno]
print(json.dumps(found))
"""
"""What a program in the container sees: every node of GPUs there, and what opening it gives."""
SEE = ["python3", "-c", LOOK]


def seen(stdout: str) -> dict[str, str]:
    """The last line is what SEE printed."""
    found: dict[str, str] = json.loads(stdout.strip().splitlines()[-1])
    return found


@pytest.fixture
def amd_nodes() -> Iterator[None]:
    """/dev/kfd and two render nodes of gid 992, mode 0660, as udev makes them."""
    yield from _made(AMD, 0o660, RENDER_GID)


@pytest.fixture
def null_nodes() -> Iterator[None]:
    """The same under the numbers of /dev/null: a permitted open works, as with a driver behind it."""
    yield from _made(dict.fromkeys(AMD, (1, 3)), 0o660, RENDER_GID)


@pytest.fixture
def nvidia_nodes() -> Iterator[None]:
    """Two GPUs' nodes and the shared ones, open to all, as the driver makes them."""
    yield from _made(NVIDIA, 0o666, 0)


def _made(nodes: dict[str, tuple[int, int]], mode: int, gid: int) -> Iterator[None]:
    if os.geteuid():
        unmet("mknod needs root")
    paths = {Path("/dev") / name: numbers for name, numbers in nodes.items()}
    if there := [str(path) for path in paths if path.exists()]:
        pytest.skip(f"this machine has {there[0]}")
    folder = Path("/dev/dri")
    made_folder = any(path.parent == folder for path in paths) and not folder.exists()
    try:
        for path, (major, minor) in paths.items():
            path.parent.mkdir(exist_ok=True)
            os.mknod(path, stat.S_IFCHR | mode, os.makedev(major, minor))
            path.chmod(mode)
            os.chown(path, 0, gid)
        yield
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
        if made_folder:
            folder.rmdir()


@pytest.fixture
def cdi_folder() -> Iterator[Path]:
    """/etc/cdi; what a test writes there is removed."""
    if os.geteuid():
        unmet("/etc/cdi needs root")
    folder = Path("/etc/cdi")
    made, before = not folder.exists(), set(folder.glob("*")) if folder.exists() else set()
    if before:
        pytest.skip("this machine has CDI specs of its own")
    folder.mkdir(exist_ok=True)
    yield folder
    for path in folder.iterdir():
        path.unlink()
    if made:
        folder.rmdir()


@pytest.fixture(scope="session")
def podman(image: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment for podman: the image is loaded into it, and its default limits are what this account has."""
    if not shutil.which("podman"):
        unmet("no podman (.ci/engine installs it on Debian)")
    folder = tmp_path_factory.mktemp("podman")
    conf = folder / "containers.conf"
    limits = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
    conf.write_text(limits + '[engine]\nruntime = "runc"\n')  # crun refuses cgroups of both versions
    environ = {**os.environ, "CONTAINERS_CONF": str(conf)}
    name = f"docker.io/{image}"
    if run("podman", "image", "exists", name).returncode:
        archive = folder / "image.tar"
        for argv in (["docker", "save", "-o", str(archive), image], ["podman", "load", "-q", "-i", str(archive)]):
            done = run(*argv, timeout=300)
            assert done.returncode == 0, done.stderr
        archive.unlink()
    return environ
