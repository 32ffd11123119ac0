"""What a command may do to the copy without touching the environments that it was made of."""

from __future__ import annotations

import hashlib
import os
import stat
import venv
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.why.local import Local, local
from doctor.why.scratch import Scratch, changes

LARGE = b"x" * (2 << 20)


def environment(folder: Path) -> Path:
    """Made like one of uv's: a large library is a hard link to a cache, another file a symbolic one."""
    venv.create(folder, symlinks=True)
    return next(folder.glob("lib/python3.*/site-packages"))


def install(site: Path, name: str, version: str, files: dict[str, bytes], record: bool = True) -> None:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    for path, content in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
    rows = [f"{path},sha256={hashlib.sha256(content).hexdigest()},{len(content)}\n" for path, content in files.items()]
    if record:
        (info / "RECORD").write_text("".join(rows) + f"{info.name}/METADATA,,\n{info.name}/RECORD,,\n")


def state(folder: Path) -> list[tuple[str, int, int, int, int, str]]:
    """All that a user could see of a tree, times and links included."""
    rows = []
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes().hex()[:64] if path.is_file() else ""
        numbers = (found.st_mtime_ns, found.st_ctime_ns, found.st_nlink, found.st_mode)
        rows.append((str(path), *numbers, content))
    return rows


def side(prefix: Path, **variables: str) -> Local:
    found = local(str(prefix), None)
    return Local(variables, found.prefix, found.packages, found.limits)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    sites = [environment(tmp_path / name) for name in ("good", "bad")]
    for site, version in zip(sites, ("1.0", "2.0"), strict=True):
        install(site, "part", version, {"part/__init__.py": f"version = {version!r}\n".encode(), "part/lib.so": LARGE})
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/linked.so").write_bytes(LARGE)
    (tmp_path / "cache/soft.py").write_text("soft = 1\n")
    os.link(tmp_path / "cache/linked.so", sites[1] / "linked.so")
    (sites[1] / "soft.py").symlink_to(tmp_path / "cache/soft.py")
    return tmp_path / "good", tmp_path / "bad"


def test_writing_through_every_file_of_the_copy_changes_nothing_of_the_users(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    good, bad = pair
    before = state(tmp_path)
    scratch = Scratch(side(good), side(bad), tmp_path / "scratch")
    scratch.carry([("package", "part")])
    site = next((scratch.folder / "environment").glob("lib/python3.*/site-packages"))
    for path in site.rglob("*"):
        if path.is_file():
            path.chmod(0o777)
            with path.open("r+b") as held:
                held.truncate(1)
    os.utime(tmp_path, ns=(before_time := tmp_path.stat().st_mtime_ns, before_time))
    assert [row for row in state(tmp_path) if not row[0].startswith(str(scratch.folder))] == before


def test_what_a_run_changed_is_put_back_before_the_next(pair: tuple[Path, Path], tmp_path: Path) -> None:
    scratch = Scratch(side(pair[0]), side(pair[1]), tmp_path / "scratch")
    scratch.carry([])
    site = next((scratch.folder / "environment").glob("lib/python3.*/site-packages"))
    (site / "part/__init__.py").write_text("version = '9.9'\n")
    (site / "part/extra.py").write_text("")
    (site / "linked.so").unlink()
    (site / "linked.so").mkdir()
    site.chmod(0o500)
    scratch.carry([])
    assert (site / "part/__init__.py").read_text() == "version = '2.0'\n"
    assert (site / "linked.so").read_bytes() == LARGE
    assert not (site / "part/extra.py").exists()


def test_compiled_files_go_with_the_source_they_were_made_of(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Wheels have files of one size and one time in two versions: a stale .pyc would be taken for current."""
    for prefix in pair:
        site = next(prefix.glob("lib/python3.*/site-packages"))
        cache = site / "part/__pycache__"
        cache.mkdir()
        (cache / "__init__.cpython-312.pyc").write_text(prefix.name)
    scratch = Scratch(side(pair[0]), side(pair[1]), tmp_path / "scratch")
    for wanted, name in (([], "bad"), ([("package", "part")], "good"), ([], "bad")):
        scratch.carry(wanted)
        made = next((scratch.folder / "environment").rglob("part/__pycache__/*.pyc"))
        assert made.read_text() == name


def test_a_file_of_two_packages_stays_while_one_of_them_does(tmp_path: Path) -> None:
    sites = [environment(tmp_path / name) for name in ("good", "bad")]
    for site in sites:
        install(site, "nvidia-a", "1", {"nvidia/__init__.py": b"", "nvidia/a.py": b""})
    install(sites[1], "nvidia-b", "1", {"nvidia/__init__.py": b"overwritten", "nvidia/b.py": b""})
    scratch = Scratch(side(tmp_path / "good"), side(tmp_path / "bad"), tmp_path / "scratch")
    assert changes(scratch.good, scratch.bad) == (("package", "nvidia-b"),)
    scratch.carry([("package", "nvidia-b")])
    there = {p.name: p.read_bytes() for p in (scratch.folder / "environment").rglob("nvidia/*.py")}
    assert there == {"__init__.py": b"", "a.py": b""}


def test_two_builds_of_one_version_differ(tmp_path: Path) -> None:
    for name, content in (("good", b"built = 'here'\n"), ("bad", b"built = 'there'\n")):
        install(environment(tmp_path / name), "ext", "1.0", {"ext.py": content, "../../../bin/ext": name.encode()})
    assert changes(side(tmp_path / "good"), side(tmp_path / "bad")) == (("package", "ext"),)


def test_where_the_environment_lies_is_no_difference_of_a_package(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        install(environment(tmp_path / name), "ext", "1.0", {"ext.py": b"", "../../../bin/ext": name.encode()})
    assert changes(side(tmp_path / "good"), side(tmp_path / "bad")) == ()


def test_files_that_no_package_lists_or_somebody_edited_are_carried_one_by_one(tmp_path: Path) -> None:
    sites = [environment(tmp_path / name) for name in ("good", "bad")]
    for site, version in zip(sites, ("1", "2"), strict=True):
        install(site, "debian", "1", {"debian.py": version.encode(), "same.py": b""}, record=False)
        install(site, "part", "1", {"part.py": b"print()\n", "other.py": b""})
        (site / "where.pth").write_text(f"{tmp_path}/{['good', 'bad'][int(version) - 1]}/src\n")
    (sites[1] / "part.py").write_bytes(b"half of an edit")
    (sites[1] / "sitecustomize.py").write_bytes(b"raise OSError\n")
    sides = side(tmp_path / "good"), side(tmp_path / "bad")
    names = ["debian.py", "part.py", "sitecustomize.py"]
    assert [(kind, Path(path).name) for kind, path in changes(*sides)] == [("file", name) for name in names]
    scratch = Scratch(*sides, tmp_path / "scratch")
    scratch.carry(changes(*sides)[1:])
    copy = next((scratch.folder / "environment").glob("lib/python3.*/site-packages"))
    assert (copy / "part.py").read_bytes() == b"print()\n"
    assert (copy / "debian.py").read_bytes() == b"2"
    assert not (copy / "sitecustomize.py").exists()


def test_no_file_is_carried_through_a_link(tmp_path: Path) -> None:
    sites = [environment(tmp_path / name) for name in ("good", "bad")]
    (tmp_path / "users").mkdir()
    (sites[0] / "data").mkdir()
    (sites[0] / "data/a.py").write_bytes(b"good")
    (sites[1] / "data").symlink_to(tmp_path / "users")
    sides = side(tmp_path / "good"), side(tmp_path / "bad")
    Scratch(*sides, tmp_path / "scratch").carry([c for c in changes(*sides) if c[1].endswith("a.py")])
    assert list((tmp_path / "users").iterdir()) == []


@pytest.mark.parametrize("path", ["../../../../outside.py", "/outside.py", "a/../../../../../outside.py"])
def test_a_record_names_nothing_outside_of_its_environment(tmp_path: Path, path: str) -> None:
    site = environment(tmp_path / "good")
    install(site, "evil", "1", {})
    (site / "evil-1.dist-info/RECORD").write_text(f"{path},sha256=0,1\nevil-1.dist-info/METADATA,,\n")
    assert all(not name.startswith(("..", "/")) for name in side(tmp_path / "good").files("evil"))


def test_scripts_start_the_copys_python(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        site = environment(tmp_path / name)
        script = f"#!{tmp_path / name}/bin/python\nprint(1)\n".encode()
        install(site, "tool", name, {"tool.py": b"", "../../../bin/tool": script})
    scratch = Scratch(side(tmp_path / "good"), side(tmp_path / "bad"), tmp_path / "scratch")
    for wanted in ([], [("package", "tool")]):
        scratch.carry(wanted)
        text = (scratch.folder / "environment/bin/tool").read_text()
        assert text.startswith(f"#!{scratch.folder}/environment/bin/python\n")


def test_a_shebang_that_is_too_long_goes_by_way_of_a_shell(tmp_path: Path) -> None:
    site = environment(tmp_path / "bad")
    install(site, "tool", "1", {"../../../bin/tool": f"#!{tmp_path}/bad/bin/python\nprint(1)\n".encode()})
    scratch = Scratch(side(tmp_path / "bad"), side(tmp_path / "bad"), tmp_path / ("long" * 40))
    scratch.carry([])
    first = (scratch.folder / "environment/bin/tool").read_bytes().splitlines()
    assert first[0] == b"#!/bin/sh"
    assert first[3] == b"print(1)"


def test_a_read_only_environment_with_a_fifo_is_copied(pair: tuple[Path, Path], tmp_path: Path) -> None:
    site = next(pair[1].glob("lib/python3.*/site-packages"))
    os.mkfifo(site / "pipe")
    for path in (site / "part", site):
        path.chmod(0o555)
    scratch = Scratch(side(pair[0]), side(pair[1]), tmp_path / "scratch")
    scratch.carry([])
    scratch.carry([("package", "part")])
    made = next((scratch.folder / "environment").rglob("part/__init__.py"))
    assert made.read_text() == "version = '1.0'\n"
    assert stat.S_IMODE(site.stat().st_mode) == 0o555
    for path in (site, site / "part"):
        path.chmod(0o755)


def test_a_disk_that_is_too_small_is_named_before_anything_is_copied(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 1 << 20})())
    with pytest.raises(InputError, match="set TMPDIR"):
        Scratch(side(pair[0]), side(pair[1]), tmp_path / "scratch").carry([])
    assert not any(path.is_file() for path in (tmp_path / "scratch").rglob("*"))


def test_a_command_that_names_an_environment_runs_the_copy(pair: tuple[Path, Path], tmp_path: Path) -> None:
    scratch = Scratch(side(pair[0]), side(pair[1]), tmp_path / "scratch")
    copy = f"{scratch.folder}/environment/bin/python"
    assert scratch.own([f"{pair[1]}/bin/python", f"{pair[0]}/bin/python"]) == [copy, copy]


def test_a_package_that_is_taken_away_leaves_no_empty_folder(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Python imports an empty folder of that name."""
    site = next(pair[0].glob("lib/python3.*/site-packages"))
    install(site, "extra", "1.0", {"extra/__init__.py": b"", "extra/inner/deep.py": b""})
    scratch = Scratch(side(pair[0]), side(pair[1]), tmp_path / "scratch")
    for wanted, is_there in (([("package", "extra")], True), ([], False)):
        scratch.carry(wanted)
        assert any((scratch.folder / "environment").rglob("extra")) is is_there
