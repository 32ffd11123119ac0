"""What the tests of `doctor image` share: a registry on loopback, a profile with all kinds of layers, and its image,
locked and built twice. The torch in it is a stand-in of some bytes, which has the name, version and build of the real
one; the real one is for the slow tier (docs/images.md)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from doctor.images import oci
from doctor.images.verify import wheel
from tests.docker.conftest import CA_BUNDLE, REPO, run, unmet

with socket.socket() as _free:
    _free.bind(("127.0.0.1", 0))
    PORT = _free.getsockname()[1]
BASE = f"localhost:{PORT}/debian:12"
PUSHED = f"localhost:{PORT}/team/doctor-test:1"
PLANTED = "pl4nted-s3cret"
VERSION_PY = "__version__ = '2.13.0+rocm7.2'\ncuda = None\nhip = '7.2.4'\n"
PROFILE = f"""
schema = 1
name = "doctor-test"
about = "What the engine tests build: $(touch /planted) \\"quoted\\" ; `id`"
status = "community"
[hardware]
vendor = "amd"
arch = ["gfx1100"]
[image]
base = "{BASE}"
python = "3.11"
[[image.pip]]
name = "torch"
version = "2.13.0"
local = "rocm7.2"
why = "A stand-in for torch."
source = {{ url = "https://example.org", as_of = 2026-11-21, status = "community" }}
[[image.apt]]
name = "less"
why = "An apt layer."
source = {{ url = "https://example.org", as_of = 2026-11-21, status = "community" }}
[[flag]]
name = "SAFETENSORS_FAST_GPU"
value = "1"
kind = "safe-default"
why = "Weights are loaded to the GPU directly."
source = {{ url = "https://example.org", as_of = 2026-11-21, status = "community" }}
"""


@dataclass(frozen=True)
class Place:
    """A folder with the user's profile, the wheels and what was made of them."""

    root: Path
    environment: dict[str, str]

    def doctor(
        self, *words: str, timeout: float = 580, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "doctor", *words]
        given = environment or self.environment
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=timeout, cwd=self.root, env=given, check=False
        )

    @property
    def files(self) -> Path:
        return self.root / "dockerfiles" / "doctor-test"

    @property
    def record(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.root / "images" / "doctor-test.build.json").read_text())
        return told


@pytest.fixture(scope="session")
def registry(engine: str, base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's own registry on loopback, with the base pushed to it."""
    program = shutil.which("docker-registry") or _fetched_registry(tmp_path_factory.mktemp("registry-package"))
    data = tmp_path_factory.mktemp("registry")
    config = data / "config.yml"
    config.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {data}/held}}}}\nhttp: {{addr: 127.0.0.1:{PORT}}}\n"
    )
    serving = subprocess.Popen([program, "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(50):
            if _answers():
                break
            time.sleep(0.1)
        assert serving.poll() is None, "the registry ended"
        assert run(engine, "tag", base, BASE).returncode == 0
        pushed = run(engine, "push", "-q", BASE, timeout=300)
        assert pushed.returncode == 0, pushed.stderr
        run(engine, "rmi", BASE)
        yield f"http://127.0.0.1:{PORT}"
    finally:
        serving.terminate()
        serving.wait(10)


def _answers() -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{PORT}/v2/").status_code == 200
    except httpx.HTTPError:
        return False


def _fetched_registry(folder: Path) -> str:
    done = subprocess.run(
        ["apt-get", "download", "-q", "docker-registry"], cwd=folder, capture_output=True, check=False
    )
    packages = list(folder.glob("*.deb"))
    if done.returncode or not packages:
        unmet("no docker-registry of Debian's can be had")
    subprocess.run(["dpkg-deb", "-x", packages[0], folder / "root"], check=True)
    return str(folder / "root/usr/bin/docker-registry")


def _torch(folder: Path) -> None:
    path = wheel(folder, "torch", "2.13.0+rocm7.2")
    with zipfile.ZipFile(path, "a") as held:
        held.writestr("torch/version.py", VERSION_PY)
        held.writestr("torch/__init__.py", "from torch import version\nfrom torch.version import __version__\n")


@pytest.fixture(scope="session")
def place(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("place")
    profiles = root / "config/doctor/profiles"
    profiles.mkdir(parents=True)
    (profiles / "doctor-test.toml").write_text(PROFILE)
    (root / "wheels").mkdir()
    _torch(root / "wheels")
    (root / "pip.conf").write_text(f"# {PLANTED}\n[global]\ntimeout = 60\n")
    (root / "netrc").write_text(f"machine index.invalid login {PLANTED} password {PLANTED}\n")
    (root / "ca").write_text(f"{CA_BUNDLE.read_text()}\n# {PLANTED}\n")
    (root / "apt.conf").write_text(f'// {PLANTED}\nAcquire::http::Pipeline-Depth "5";\n')
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPO),
        "XDG_CONFIG_HOME": str(root / "config"),
    }
    return Place(root, environment)


def _behind_a_proxy(place: Place) -> dict[str, str]:
    """A proxy with a login that nothing answers at. It is passed over for the hosts that this machine's pip and the
    lock take their files from, whatever they are called here."""
    lock = json.loads((place.files / "lock.json").read_text())
    rows = [w["url"] for part in ("stack", "doctor") for w in lock[part]["wheels"] if w["url"]]
    words = [sys.executable, "-m", "pip", "download", "-vv", "--no-deps", "--dest", str(place.root / "probe"), "mdurl"]
    asked = subprocess.run(words, capture_output=True, text=True, check=False, env=place.environment)
    rows += [word.strip("',:()") for word in asked.stdout.split() if word.startswith("https://")]
    hosts = {urlsplit(row).hostname or "" for row in rows} - {""}
    passed = ",".join(sorted({*hosts, "localhost", "127.0.0.1"}))
    proxy = f"http://user:{PLANTED}@proxy.invalid:3128"
    return {**place.environment, "HTTPS_PROXY": proxy, "NO_PROXY": passed, "no_proxy": passed}


SECRETS = ("--secret=ca=ca", "--secret=pip_conf=pip.conf", "--secret=netrc=netrc", "--secret=apt_conf=apt.conf")


class Walked(NamedTuple):
    """An archive that was looked through once. `layers`: path → time, of each; `planted`: where a secret was found."""

    config: dict[str, Any]
    layers: list[dict[str, int]]
    planted: list[str]


def walked(archive: Path) -> Walked:
    image = oci.read(archive)
    found = Walked(image.config, [], [])
    for layer in image.layers:
        times: dict[str, int] = {}

        def look(entry: oci.Entry, head: bytes | None, times: dict[str, int] = times) -> None:
            times[entry.path.rstrip("/")] = entry.mtime
            if PLANTED.encode() in (head or b"") or PLANTED in entry.path:
                found.planted.append(entry.path)

        oci.walk(image, layer, look)
        found.layers.append(times)
    return found


@pytest.fixture(scope="session")
def held(place: Place) -> Place:
    """Locked."""
    done = place.doctor("image", "lock", "doctor-test", "--wheels=wheels")
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="session")
def built(held: Place) -> Place:
    """Locked, then built twice without cache, and pushed."""
    place = held
    words = ("image", "build", "doctor-test", "--wheels=wheels", "--verify", "--compression=zstd", f"--push={PUSHED}")
    done = place.doctor(*words, *SECRETS, environment=_behind_a_proxy(place))
    assert done.returncode == 0, done.stdout + done.stderr
    run("docker", "rmi", PUSHED)  # the registry keeps it
    return place
