"""`doctor run` with rootless podman, as an account that is in the nodes' group and as one that is not.

The account is made for the test and removed; sysfs is that of a machine with two MI300X; cgroups are of version 2
alone, as on today's hosts; the doctor is the installed one, which every account can read.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import run, unmet
from tests.docker.gpu_nodes import RENDER_GID, amd_nodes

pytestmark = pytest.mark.engine
_ = amd_nodes  # a fixture
Doctor = Callable[..., "subprocess.CompletedProcess[str]"]

NAME, GROUP, UID, IMAGE = "doctor-test", "doctor-test-render", 4242, "localhost/doctor-test:1"
NEEDED = ("podman", "crun", "newuidmap", "busybox", "useradd", "runuser", "unshare")
ENTER = """
umount -R /sys/fs/cgroup; mkdir -p "$1/fs/cgroup"; mount --make-rshared /
mount --bind "$1" /sys && mount -t cgroup2 none /sys/fs/cgroup && shift && exec "$@"
"""
CONF = """[containers]
netns = "none"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "crun"
cgroup_manager = "cgroupfs"
"""
LOOK = "ls /dev/dri; for n in /dev/kfd /dev/dri/*; do (: <>$n) 2>&1 | sed 's/.*: //'; done"


@pytest.fixture
def home() -> Iterator[Path]:
    """Of an account with numbers of its own for a user namespace, which podman keeps its images in."""
    if os.geteuid() or (missing := [name for name in NEEDED if not shutil.which(name)]):
        unmet(f"rootless podman needs root to make an account, and {', '.join(NEEDED)}; missing: {missing}")
    run("userdel", "-r", NAME)
    made = run("useradd", "-m", "-u", str(UID), NAME)
    assert made.returncode == 0, made.stderr
    folder, runtime = Path(f"/home/{NAME}"), Path(f"/run/user/{UID}")
    (folder / "containers.conf").write_text(CONF)
    runtime.mkdir(parents=True, exist_ok=True)
    os.chown(runtime, UID, UID)
    _image(folder)
    yield folder
    for pid in runtime.glob("**/pause.pid"):  # the process that keeps this account's user namespace
        os.kill(int(pid.read_text()), signal.SIGKILL)
    shutil.rmtree(runtime, ignore_errors=True)
    run("userdel", "-r", NAME)
    run("groupdel", GROUP)


def _image(folder: Path) -> None:
    """A static busybox under the names that are called."""
    root = folder / "image"
    (root / "bin").mkdir(parents=True)
    shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
    for name in ("sh", "ls", "sed", "id"):
        (root / "bin" / name).symlink_to("busybox")
    run("tar", "-C", str(root), "-cf", str(folder / "image.tar"), ".")


@pytest.fixture
def doctor(home: Path, mi300x_sys: Path, installed: Path) -> Doctor:
    python = shutil.which("python3.11", path="/usr/bin:/usr/local/bin")
    if python is None:
        unmet("the installed doctor is for Python 3.11, which is not here for every account")
    for folder in (mi300x_sys, *mi300x_sys.parents):
        if folder != Path("/") and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)

    def start(*argv: str) -> subprocess.CompletedProcess[str]:
        environ = {"XDG_RUNTIME_DIR": f"/run/user/{UID}", "HOME": str(home), "PATH": os.environ["PATH"]}
        environ["CONTAINERS_CONF"] = str(home / "containers.conf")
        environ["PYTHONPATH"] = str(installed)
        script = f'cd / && podman import -q "$HOME/image.tar" {IMAGE} >/dev/null 2>&1; exec "$@"'
        as_user = ["runuser", "-u", NAME, "--", "sh", "-c", script, "sh"]
        words = ["unshare", "-m", "sh", "-c", ENTER, "sh", str(mi300x_sys), *as_user]
        return subprocess.run(
            [*words, str(python), "-m", "doctor", "run", "--engine", "podman", *argv],
            capture_output=True, text=True, timeout=120, env=environ, check=False,
        )  # fmt: skip

    return start


def test_the_account_s_group_is_kept(doctor: Doctor, amd_nodes: None) -> None:
    run("groupadd", "-g", str(RENDER_GID), GROUP)
    run("usermod", "-aG", str(RENDER_GID), NAME)
    done = doctor("--gpus", "1", IMAGE, "--", "sh", "-c", LOOK)
    assert done.returncode == 0, done.stderr
    both = ["renderD128", "renderD129"]  # ROCm needs all of them, and is told which one to use
    assert done.stdout.splitlines() == [*both, *["No such device or address"] * 3]
    assert "ROCR_VISIBLE_DEVICES limits programs to GPU 1" in done.stderr
    assert doctor("--gpus", "1", IMAGE, "--", "sh", "-c", "echo $ROCR_VISIBLE_DEVICES").stdout == "1\n"
    shown = doctor("--gpus", "1", "--print", IMAGE).stdout
    assert "--group-add keep-groups" in shown
    assert "--privileged" not in shown


def test_an_account_that_is_not_in_the_group_is_told_before_anything_starts(doctor: Doctor, amd_nodes: None) -> None:
    done = doctor("--gpus", "1", IMAGE, "--", "sh", "-c", LOOK)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"missing: you may not open /dev/dri/renderD128 (group {RENDER_GID}, mode 660)" in done.stderr
    assert f"Fix: sudo usermod -aG {RENDER_GID} $USER" in done.stderr
    forced = doctor("--gpus", "1", "--force", IMAGE, "--", "sh", "-c", LOOK)
    assert forced.stdout.splitlines() == ["renderD128", "renderD129", *["Permission denied"] * 3]  # and it was true
