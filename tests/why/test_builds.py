"""Two builds of one version differ, and one library in two folders does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.facts import FactSheet, Snapshot
from doctor.probes.lib import builds
from doctor.system.tree import TreeSystem
from doctor.why.differences import differences


def machine(digest: str = "a", folder: str = "/opt", **facts: Any) -> Snapshot:
    rows = [
        {"key": "package:numpy", "digest": digest * 8, "path": f"{folder}/numpy"},
        {"key": "library:libcuda.so.1", "digest": digest * 8, "path": f"{folder}/libcuda.so.1"},
    ]
    base = {
        "packages": [{"name": "numpy", "version": "2.0"}],
        "loader": [{"key": "libcuda.so.1", "path": f"{folder}/libcuda.so.1", "by": "ld.so.cache"}],
        "builds": rows,
    }
    return Snapshot.model_validate({**base, **facts})


def names(good: Snapshot, bad: Snapshot) -> list[str]:
    return [one.name for one in differences(good, bad)]


def test_two_builds_of_one_version_differ() -> None:
    assert names(machine("a"), machine("b")) == ["packages[numpy]", "builds[libcuda.so.1]"]
    assert names(machine("a"), machine("a")) == []


def test_one_library_in_two_folders_is_no_difference() -> None:
    assert names(machine(folder="/opt"), machine(folder="/usr")) == []
    assert names(machine(folder="/opt"), machine("b", folder="/usr")) == ["packages[numpy]", "loader"]


def test_a_side_without_builds_has_no_other_build() -> None:
    assert names(machine("a"), machine("b", builds=None)) == []


def test_stand_ins_are_names_where_both_have_one_key() -> None:
    good, bad = (Snapshot.model_validate({"environment": {"MASTER_ADDR": f"host-{n * 8}"}}) for n in "12")
    assert differences(good, bad) == ()
    assert [d.name for d in differences(good, bad, same_names=True)] == ["environment[MASTER_ADDR]"]


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A tree with a virtual environment of one package, whose RECORD names a script too."""
    site = tmp_path / "venv/lib/python3.11/site-packages"
    info = site / "part-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "venv/pyvenv.cfg").write_text("version = 3.11.7\n")
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python").write_text("")
    (info / "METADATA").write_text("Name: part\nVersion: 1.0\n")
    return info / "RECORD"


def build_of(root: Path) -> str:
    sheet = FactSheet()
    builds.probe(TreeSystem(root), sheet, "/venv")
    return next(str(row["digest"]) for row in sheet.get("builds") if row["key"] == "package:part")


def test_a_build_is_what_the_record_lists_and_not_who_installed_it(python: Path, tmp_path: Path) -> None:
    found = []
    for digest, installer in (("a", "pip"), ("a", "uv"), ("b", "pip")):
        rows = f"part.py,sha256={digest},1\n../../../bin/part,sha256={installer},9\n"
        python.write_text(f"{rows}part-1.0.dist-info/INSTALLER,sha256={installer},4\npart-1.0.dist-info/RECORD,,\n")
        found.append(build_of(tmp_path))
    assert found[0] == found[1] != found[2]


def test_a_bundle_for_why_needs_a_key_and_has_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "--for-why", "-o", str(tmp_path / "b.tar.gz")]) == 2
    assert "--for-why needs --key FILE" in capsys.readouterr().err
    keys = []
    for name in "ab":
        (tmp_path / name).write_text(os.urandom(16).hex())
        keys.append(str(tmp_path / name))
        argv = ["bundle", "--for-why", "--key", keys[-1], "-o", str(tmp_path / f"{name}.tar.gz")]
        assert run(argv) == 0
    capsys.readouterr()
    assert run(["why", str(tmp_path / "a.tar.gz"), str(tmp_path / "b.tar.gz"), "--format", "json"]) in (0, 1)
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert answer["keys_differ"]


@pytest.mark.parametrize(
    ("package", "files", "modules"),
    [
        ("opencv-python", "cv2/__init__.py cv2/gapi/__init__.py", ["cv2"]),
        ("protobuf", "google/protobuf/__init__.py google/protobuf/internal/__init__.py", ["google.protobuf"]),
        (
            "python-dateutil",
            "dateutil/__init__.py _dateutil.cpython-311-x86_64-linux-gnu.so",
            ["_dateutil", "dateutil"],
        ),
        ("numpy", "numpy/__init__.py", None),
    ],
)
def test_a_package_knows_what_it_is_imported_as(
    tmp_path: Path, package: str, files: str, modules: list[str] | None
) -> None:
    info = tmp_path / f"venv/lib/{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("".join(f"{path},sha256=a,1\n" for path in files.split()))
    (row,) = builds._packages(TreeSystem(tmp_path), [{"location": "/venv/lib"}])
    assert row.get("modules") == modules
