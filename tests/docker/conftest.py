"""A real Docker engine, a Debian image with ROCm's user space, and the doctor mounted into it.

Without an engine these tests skip; CI fails when they do (`DOCTOR_REQUIRE_ENGINE`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probes import amd_trees

REPO = Path(__file__).resolve().parents[2]
SLIM = "doctor-test/debian:2"
BASE_OF_IMAGES = "doctor-test/debian-compiler:1"
IMAGE = "doctor-test/debian-rocm:2"
PACKAGES = "python3,ca-certificates"
ROCM_PACKAGES = ["rocminfo", "rocm-smi", "libamdhip64-5"]
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")

Container = Callable[..., "subprocess.CompletedProcess[str]"]


def run(*argv: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout)


def unmet(reason: str) -> None:
    if os.environ.get("DOCTOR_REQUIRE_ENGINE"):
        pytest.fail(f"the engine tier is required here: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def engine() -> str:
    if not shutil.which("docker") or run("docker", "info").returncode:
        unmet("no Docker engine answers (.ci/engine starts one on Debian)")
    return "docker"


@pytest.fixture(scope="session")
def image(engine: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Debian bookworm with Debian's own ROCm tools, imported once and kept by the engine; and what it stands on."""
    with (Path(tempfile.gettempdir()) / "doctor-test-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two processes of the tests may begin at once
        return _image(engine, tmp_path_factory)


def _image(engine: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    if all(run(engine, "image", "inspect", name).returncode == 0 for name in (SLIM, IMAGE)):
        return IMAGE
    if os.geteuid() or not shutil.which("debootstrap"):
        unmet("making the image needs root and debootstrap")
    root = tmp_path_factory.mktemp("image") / "root"
    suite = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)]
    subprocess.run(suite, check=True, stdout=subprocess.DEVNULL, timeout=600)
    _imported(engine, root, SLIM)
    install = ["chroot", str(root), "apt-get", "install", "-y", "-q", "--no-install-recommends", *ROCM_PACKAGES]
    subprocess.run(["chroot", str(root), "apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL, timeout=600)
    _imported(engine, root, IMAGE)
    shutil.rmtree(root, ignore_errors=True)
    return IMAGE


@pytest.fixture(scope="session")
def slim(image: str) -> str:
    """Debian bookworm with Python alone."""
    return SLIM


@pytest.fixture(scope="session")
def base(engine: str, slim: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """With the compiler that images with torch have too: else each of their builds installs it again."""
    if run(engine, "image", "inspect", BASE_OF_IMAGES).returncode:
        folder = tmp_path_factory.mktemp("base")
        install = "apt-get update -q && apt-get install -y -q --no-install-recommends gcc g++ libc6-dev"
        clean = "rm -rf /var/lib/apt/lists/* /var/cache/apt/* /usr/share/doc /usr/share/locale"
        (folder / "Dockerfile").write_text(f"FROM {slim}\nRUN {install} && {clean}\n")
        made = run(engine, "build", "-q", "-t", BASE_OF_IMAGES, str(folder), timeout=300)
        assert made.returncode == 0, made.stderr
    return BASE_OF_IMAGES


def _imported(engine: str, root: Path, name: str) -> None:
    for what in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(root / what, ignore_errors=True)
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
        subprocess.run([engine, "import", "-", name], stdin=tar.stdout, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The doctor and what it needs, installed for the image's Python (3.11), from a wheel built here."""
    folder = tmp_path_factory.mktemp("installed")
    wheels = folder / "wheels"
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(REPO)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    wheel = next(wheels.glob("*.whl"))
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--python-version", "3.11", "--only-binary=:all:"]
    subprocess.run([*pip, "--target", str(target), str(wheel)], check=True, timeout=300)
    folder.chmod(0o755)
    for part in folder.parents:
        if str(part).startswith("/tmp/"):  # so that a plain user in the container can read the mount
            part.chmod(part.stat().st_mode | 0o055)
    return target


@pytest.fixture
def mi300x_sys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The /sys of a machine with two MI300X and a loaded amdgpu, to be laid over a container's own."""
    root = tmp_path_factory.mktemp("mi300x")
    amd_trees.mi300x(root, 0x1B, 0x3D)
    (root / "sys/fs/cgroup").mkdir(parents=True)  # where the engine mounts the container's own
    return root / "sys"


@pytest.fixture
def container(engine: str, image: str, installed: Path) -> Container:
    """`container(*docker_flags, argv=[…])` runs the doctor in a fresh container."""

    def start(*flags: str, argv: list[str]) -> subprocess.CompletedProcess[str]:
        mount = ["-v", f"{installed}:/opt/doctor:ro", "-e", "PYTHONPATH=/opt/doctor"]
        return run(engine, "run", "--rm", "--network=none", *mount, *flags, image, *argv)

    return start


# Fixtures that several modules share; they import what is above.
from tests.docker.image_place import built, held, place, registry  # noqa: E402, F401
