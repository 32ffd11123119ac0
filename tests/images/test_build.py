from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.images import engine, oci
from doctor.images.build import Options, _again, _request, _room
from doctor.images.engine import Builder, BuildFailed, Request
from doctor.images.inside import Inner
from doctor.images.lockfile import BaseLock, Lock, Wheel, WheelLock
from doctor.images.recipe import Recipe, recipe
from doctor.knowledge import Knowledge
from doctor.system.engine_sockets import Place
from tests.images.profiles import profile

_Usage = namedtuple("_Usage", "total used free")


def sized(wheel_bytes: int) -> Recipe:
    made = recipe(profile(), None, Knowledge())
    wheel = Wheel(name="torch", version="2.13.0+rocm7.2", file="torch-2.whl", sha256="a" * 64, size=wheel_bytes)
    stack = WheelLock(asked=made.stack_asked, python="3.12", glibc="2.39", wheels=(wheel,))
    base = BaseLock(asked="ubuntu:24.04", digest="sha256:" + "b" * 64)
    return Recipe(made.profile, made.base, Lock(epoch=1, base=base, stack=stack))


class Root:
    """An engine that keeps its images in a folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.where = root, Place("unix:///var/run/docker.sock")

    def info(self) -> dict[str, str]:
        return {"DockerRootDir": str(self.root)}


@pytest.mark.parametrize(
    ("verify", "free_gb", "refused", "noted"),
    [(False, 40, False, False), (False, 10, False, True), (True, 35, False, True), (True, 5, True, False)],
)
def test_the_disk_is_estimated_from_the_locks_sizes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verify: bool, free_gb: int, refused: bool, noted: bool
) -> None:
    """2.9 GB of wheels make an image of 6.3 GB: archives of 3.1 GB each, and some 16 GB in the engine for a build."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(0, 0, free_gb * 10**9))
    notes: list[str] = []
    api: Any = Root(tmp_path)
    options = Options(verify=verify)
    if refused:
        with pytest.raises(InputError, match=r"5\.0 GB are free and the archives need about 6\.3"):
            _room(sized(2_900_000_000), tmp_path, options, api, notes.append)
    else:
        _room(sized(2_900_000_000), tmp_path, options, api, notes.append)
    assert bool(notes) is noted


def test_the_first_archive_is_kept_where_the_second_build_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = tmp_path / "image.tar"
    first.write_bytes(b"a good build")
    request = Request(tmp_path, first, "doctor/x", 7)

    def fails(*_: object) -> None:
        raise BuildFailed(["docker"], 1, None, "", "the disk is full")

    monkeypatch.setattr(engine, "build", fails)
    image = oci.Image(first, "sha256:a", {}, (), 1)
    kept = tmp_path / "x.oci.tar"
    with pytest.raises(BuildFailed, match=r"the disk is full; the first of the two builds is kept: .*x\.oci\.tar"):
        _again(request, image, kept, None)
    assert kept.read_bytes() == b"a good build"


def test_the_doctors_files_bear_a_time_that_their_bytes_decide(tmp_path: Path) -> None:
    """Its list has the same name and size with each new doctor, and BuildKit would keep the old one."""
    times = []
    for digit in "ab":
        inner = Inner("rocm_cuda_doctor-0.1.0-py3-none-any.whl", digit * 64, b"wheel " + digit.encode())
        made = recipe(profile(), None, Knowledge(), doctor=inner)
        work = tmp_path / digit
        _request(made, work, Options(unlocked=True), Builder("docker", "docker 26.1.5", "0.13.1"))
        times.append([(work / "context/doctor" / name).stat().st_mtime for name in ("doctor.txt", inner.file)])
        assert (work / "context/image/image.conf").stat().st_mtime == made.epoch
    assert times[0][0] != times[1][0]
    assert times[0][1] != times[1][1]
