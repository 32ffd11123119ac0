"""The search for libraries, against the real loader: the same small programs, what LD_DEBUG=libs says that it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.probes.lib.python_loader import Loader
from doctor.system.live import LiveSystem
from doctor.system.tree import TreeSystem

needs_gcc = pytest.mark.skipif(
    not shutil.which("gcc") and "CI" not in os.environ, reason="no gcc to make a program with"
)
_FOUND = re.compile(r"calling init: (/\S+)")


class Built:
    """A folder in which programs and libraries are made. A library `name` gives the function `name`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def library(self, place: str, name: str, *needs: str, flags: tuple[str, ...] = (), value: int = 0) -> Path:
        path = self.folder / place / f"lib{name}.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = f"int {name}(void) {{ return {value}; }}\n"
        self._make(path, body, "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so", *flags, needs=needs)
        return path

    def program(self, *needs: str, flags: tuple[str, ...] = ()) -> Path:
        path = self.folder / "program"
        self._make(path, "int main(void) { return 0; }\n", *flags, needs=needs)
        return path

    def _make(self, path: Path, body: str, *flags: str, needs: tuple[str, ...]) -> None:
        source = path.with_suffix(".c")
        source.write_text(body)
        linked = [str(self.folder / need) for need in needs]
        rest = ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", f"-Wl,-rpath-link,{self.folder}"]
        subprocess.run(["gcc", "-o", path, source, *flags, *rest, *linked], check=True, timeout=60)


def real_loader(program: Path, environ: Mapping[str, str]) -> set[str]:
    """Every library that it maps and initialises."""
    ran = subprocess.run(
        [program], env={**environ, "LD_DEBUG": "libs"}, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return {os.path.realpath(path) for path in _FOUND.findall(ran.stderr)} - {os.path.realpath(program)}


def our_loader(program: Path, environ: Mapping[str, str]) -> tuple[set[str], Loader]:
    loader = Loader(LiveSystem(environ=environ), environ)
    assert loader.open(str(program).lstrip("/"))
    paths = {os.path.realpath("/" + held.path) for held in loader.loaded[1:]}
    return {path for path in paths if not path.rpartition("/")[2].startswith("ld-linux")}, loader


def compared(program: Path, environ: Mapping[str, str]) -> Loader:
    """Ours, after both were found to take the same files."""
    ours, loader = our_loader(program, environ)
    theirs = {path for path in real_loader(program, environ) if not path.rpartition("/")[2].startswith("ld-linux")}
    assert ours == theirs
    return loader


def taken(loader: Loader, name: str) -> tuple[str, str]:
    answer = next(a for a in loader.answers if a.name == name)
    assert answer.path
    assert answer.by
    return Path(answer.path).parent.name, answer.by


RUNPATH = ("-Wl,--enable-new-dtags",)
RPATH = ("-Wl,--disable-new-dtags",)


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return Built(tmp_path)


@needs_gcc
def test_a_folder_on_ld_library_path_shadows_a_runpath(built: Built) -> None:
    own = built.library("own", "thing", value=1)
    built.library("shadow", "thing", value=2)
    program = built.program("own/libthing.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/own"))
    assert taken(compared(program, {}), "libthing.so") == ("own", "RUNPATH of program")
    loader = compared(program, {"LD_LIBRARY_PATH": str(built.folder / "shadow")})
    assert taken(loader, "libthing.so") == ("shadow", "LD_LIBRARY_PATH")
    (answer,) = (a for a in loader.answers if a.name == "libthing.so")
    assert [(c.path, c.by) for c in answer.others] == [(str(own).lstrip("/"), "RUNPATH of program")]


@needs_gcc
def test_an_rpath_is_stronger_than_ld_library_path(built: Built) -> None:
    built.library("own", "thing")
    built.library("shadow", "thing")
    program = built.program("own/libthing.so", flags=(*RPATH, "-Wl,-rpath,$ORIGIN/own"))
    loader = compared(program, {"LD_LIBRARY_PATH": str(built.folder / "shadow")})
    assert taken(loader, "libthing.so") == ("own", "RPATH of program")


@needs_gcc
def test_an_rpath_is_inherited_and_a_runpath_is_not(built: Built) -> None:
    """A library without a path of its own finds what it needs through the program's RPATH."""
    built.library("deep", "below")
    built.library("own", "thing", "deep/libbelow.so")
    both = f"-Wl,-rpath,{built.folder}/own:{built.folder}/deep"
    loader = compared(built.program("own/libthing.so", flags=(*RPATH, both)), {})
    assert taken(loader, "libbelow.so") == ("deep", "RPATH of program")
    program = built.program("own/libthing.so", flags=(*RUNPATH, both))
    _ours, loader = our_loader(program, {})
    assert next(a for a in loader.answers if a.name == "libbelow.so").path is None
    ran = subprocess.run([program], env={}, capture_output=True, text=True, check=False, timeout=60)
    assert "libbelow.so: cannot open shared object file" in ran.stderr


@needs_gcc
def test_a_runpath_of_the_asking_library_turns_its_parents_rpath_off(built: Built) -> None:
    """torch has an RPATH, NVIDIA's libraries have a RUNPATH: LD_LIBRARY_PATH reaches what these need of each other."""
    built.library("deep", "below")
    built.library("shadow", "below")
    built.library("own", "thing", "deep/libbelow.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/../deep"))
    rpath = f"-Wl,-rpath,{built.folder}/own:{built.folder}/deep"
    program = built.program("own/libthing.so", flags=(*RPATH, rpath))
    loader = compared(program, {"LD_LIBRARY_PATH": str(built.folder / "shadow")})
    assert taken(loader, "libbelow.so") == ("shadow", "LD_LIBRARY_PATH")
    assert taken(compared(program, {}), "libbelow.so") == ("deep", "RUNPATH of libthing.so")


@needs_gcc
def test_what_is_loaded_already_is_taken_for_its_name(built: Built) -> None:
    """The program's own copy comes first; a library that has another one on its path gets the program's."""
    built.library("first", "thing")
    built.library("second", "thing")
    built.library("own", "user", "second/libthing.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/../second"))
    program = built.program(
        "first/libthing.so", "own/libuser.so", flags=(*RPATH, f"-Wl,-rpath,{built.folder}/first:{built.folder}/own")
    )
    loader = compared(program, {})
    assert [held.path.split("/")[-2] for held in loader.loaded if held.path.endswith("libthing.so")] == ["first"]


@needs_gcc
def test_a_file_of_another_machine_is_passed_over(built: Built) -> None:
    built.library("own", "thing")
    wrong = built.folder / "wrong" / "libthing.so"
    wrong.parent.mkdir()
    image = bytearray((built.folder / "own" / "libthing.so").read_bytes())
    image[18] = 183 if image[18] != 183 else 62
    wrong.write_bytes(image)
    program = built.program("own/libthing.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/own"))
    loader = compared(program, {"LD_LIBRARY_PATH": str(wrong.parent)})
    assert taken(loader, "libthing.so") == ("own", "RUNPATH of program")


@needs_gcc
def test_sub_folders_for_the_cpu_come_first(built: Built) -> None:
    built.library("own", "thing")
    built.library("own/glibc-hwcaps/x86-64-v2", "thing")
    program = built.program("own/libthing.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/own"))
    compared(program, {})


@needs_gcc
@pytest.mark.parametrize("form", ["{path}", "/nowhere/libno.so:{path}", "  {path} "])
def test_what_is_preloaded_takes_the_name_before_any_path(form: str, built: Built) -> None:
    """Before an RPATH too; a preload that is not there is passed over."""
    own = built.library("own", "thing")
    path = built.library("shadow", "thing")
    program = built.program("own/libthing.so", flags=(*RPATH, "-Wl,-rpath,$ORIGIN/own"))
    loader = compared(program, {"LD_PRELOAD": form.format(path=path)})
    assert taken(loader, "libthing.so") == ("shadow", "LD_PRELOAD")
    (answer,) = (a for a in loader.answers if a.name == "libthing.so")
    assert [c.path for c in answer.others] == [str(own).lstrip("/")]


@needs_gcc
def test_a_preloaded_library_brings_what_it_needs(built: Built) -> None:
    """By a bare name it is searched as if the program had asked for it."""
    built.library("deep", "below")
    built.library("shadow", "extra", "deep/libbelow.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/../deep"))
    built.library("own", "below")
    program = built.program("own/libbelow.so", flags=(*RUNPATH, "-Wl,-rpath,$ORIGIN/own"))
    environ = {"LD_PRELOAD": "libextra.so", "LD_LIBRARY_PATH": str(built.folder / "shadow")}
    loader = compared(program, environ)
    assert taken(loader, "libbelow.so") == ("own", "RUNPATH of program")


@needs_gcc
def test_a_library_that_is_nowhere_is_told(built: Built) -> None:
    built.library("own", "thing")
    program = built.program("own/libthing.so")
    _, loader = our_loader(program, {})
    assert [(a.name, a.path) for a in loader.answers if a.name == "libthing.so"] == [("libthing.so", None)]


@pytest.mark.skipif(not Path("/etc/ld.so.cache").is_file(), reason="no cache of the loader here")
def test_this_python_itself() -> None:
    """A real program of this machine, with the cache and the default folders."""
    program = Path(os.path.realpath("/usr/bin/python3" if Path("/usr/bin/python3").exists() else "/bin/sh"))
    ours, _ = our_loader(program, {})
    listed = subprocess.run(
        [program, "-c", "pass"], env={"LD_DEBUG": "libs"}, capture_output=True, text=True, check=False, timeout=60
    )
    theirs = {os.path.realpath(p) for p in _FOUND.findall(listed.stderr) if not re.search(r"ld-linux|lib-dynload", p)}
    assert ours
    assert ours == theirs - {str(program)}


@needs_gcc
@pytest.mark.skipif(
    "CI" not in os.environ and (os.geteuid() != 0 or not shutil.which("ldconfig")),
    reason="a root of its own needs root rights",
)
def test_a_folder_of_ld_so_conf_shadows_the_default_one(built: Built) -> None:
    """In a root of its own, with a cache that the system's ldconfig made of its ld.so.conf."""
    root = built.folder / "root"
    built.library("root/usr/lib/x86_64-linux-gnu", "thing")
    built.library("root/opt/shadow/lib", "thing")
    program = built.program("root/usr/lib/x86_64-linux-gnu/libthing.so")
    shutil.copy(program, root / "program")
    for name in ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"):
        if not Path(name).exists():
            pytest.skip(f"no {name} here")
        (root / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(name), root / name.lstrip("/"))
    (root / "etc").mkdir()
    found = {}
    for text, preload in (("/opt/shadow/lib\n", ""), ("\n", ""), ("# \n", "/opt/shadow/lib/libthing.so\n")):
        (root / "etc" / "ld.so.conf").write_text(text)
        (root / "etc" / "ld.so.preload").write_text(preload)
        subprocess.run(["ldconfig", "-r", str(root)], check=True, timeout=60, capture_output=True)
        loader = Loader(TreeSystem(root), {})
        assert loader.open("program")
        path, by = next((a.path, a.by) for a in loader.answers if a.name == "libthing.so")
        ran = subprocess.run(
            ["chroot", str(root), "/program"], env={"LD_DEBUG": "libs", "PATH": os.environ["PATH"]},
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        theirs = [p for p in _FOUND.findall(ran.stderr) if p.endswith("/libthing.so")]
        assert theirs[-1].removeprefix("/usr") == f"/{path}".removeprefix("/usr")
        found[text] = by
    assert found == {"/opt/shadow/lib\n": "ld.so.cache", "\n": "ld.so.cache", "# \n": "/etc/ld.so.preload"}


@needs_gcc
def test_a_library_without_the_version_that_is_wanted(tmp_path: Path) -> None:
    """A program built against one libgomp.so.1, which then finds another that does not define the version."""
    built = Built(tmp_path)
    made = {}
    for place, version in (("new", "VERS_2"), ("old", "VERS_1")):
        script = tmp_path / f"{place}.map"
        script.write_text(f"{version} {{ global: gomp; }};\n")
        flags = (f"-Wl,--version-script={script}", "-Wl,-soname,libgomp.so.1")
        made[place] = built.library(place, "gomp", flags=flags)
    (tmp_path / "old/libgomp.so.1").symlink_to("libgomp.so")
    source = tmp_path / "p.c"
    source.write_text("int gomp(void); int main(void) { return gomp(); }\n")
    program = tmp_path / "p"
    subprocess.run(["gcc", "-o", program, source, made["new"]], check=True, timeout=60)
    environ = {"LD_LIBRARY_PATH": str(tmp_path / "old")}
    loader = Loader(LiveSystem(environ=environ), environ)
    assert loader.open(str(program).lstrip("/"))
    assert [(taken.path.rpartition("/")[2], missing) for _, taken, missing in loader.lacking_versions()] == [
        ("libgomp.so.1", ["VERS_2"])
    ]


@needs_gcc
def test_a_file_called_libstdcxx_without_versions_is_none(tmp_path: Path) -> None:
    built = Built(tmp_path)
    made = {}
    for place, flags in (("new", ("-Wl,--version-script", str(tmp_path / "map"))), ("old", ())):
        (tmp_path / "map").write_text("GLIBCXX_3.4 { global: thing; };\n")
        made[place] = built.library(place, "thing", flags=(*flags, "-Wl,-soname,libstdc++.so.6"))
    (tmp_path / "old/libstdc++.so.6").symlink_to("libthing.so")
    source = tmp_path / "p.c"
    source.write_text("int thing(void); int main(void) { return thing(); }\n")
    program = tmp_path / "p"
    subprocess.run(["gcc", "-o", program, source, made["new"]], check=True, timeout=60)
    environ = {"LD_LIBRARY_PATH": str(tmp_path / "old")}
    loader = Loader(LiveSystem(environ=environ), environ)
    assert loader.open(str(program).lstrip("/"))
    assert [missing for _, _, missing in loader.lacking_versions()] == [["GLIBCXX_3.4"]]
