"""Packages of the distribution at hand are the lock's, or nothing is built: apt checks no local file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.images.build import Options, _request
from doctor.images.debs import unfit
from doctor.images.engine import Builder
from doctor.images.lockfile import Deb
from doctor.images.recipe import recipe
from tests.images.profiles import profile
from tests.images.test_emit import KB, locked

GOOD = b"!<arch>\n as it was locked"
DEB = Deb(name="libstdc++6", version="1:14.2.0-19", sha256=hashlib.sha256(GOOD).hexdigest())
FILE = "libstdc++6_1%3a14.2.0-19_amd64.deb"

BUILDER = Builder("docker", "docker 26.1.5", "0.13.1")


def reasons(folder: Path) -> list[str]:
    return [why for _, why in unfit(folder, [DEB])]


def test_the_file_of_the_lock_fits(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(GOOD)
    assert reasons(tmp_path) == []


def test_another_file_of_that_name_does_not(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(GOOD + b"!")
    assert reasons(tmp_path) == [f"{FILE} has another hash than the lock"]


def test_another_version_is_not_it(tmp_path: Path) -> None:
    (tmp_path / "libstdc++6_1%3a14.2.0-20_amd64.deb").write_bytes(GOOD)
    assert reasons(tmp_path) == ["libstdc++6=1:14.2.0-19 is not there"]


def test_without_a_hash_nothing_is_known_of_a_file(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(GOOD)
    (found,) = unfit(tmp_path, [DEB.model_copy(update={"sha256": None})])
    assert found[1].endswith("its lock has no hash of it")


@pytest.mark.parametrize(("held", "fits"), [(GOOD, True), (b"planted", False)])
def test_a_build_with_a_planted_package_is_refused(held: bytes, fits: bool, tmp_path: Path) -> None:
    lock = locked(recipe(profile(), None, KB))
    assert lock.apt is not None
    lock = lock.model_copy(update={"apt": lock.apt.model_copy(update={"runtime": (DEB,), "build": ()})})
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / FILE).write_bytes(held)
    given = recipe(profile(), lock, KB)
    if fits:
        assert _request(given, tmp_path, Options(wheels=wheels), BUILDER).contexts["wheels"] == wheels
        return
    with pytest.raises(InputError, match="another hash than the lock"):
        _request(given, tmp_path, Options(wheels=wheels), BUILDER)
