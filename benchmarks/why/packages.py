"""Pairs that differ in the packages of a virtual environment."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.why.world import PROVED, World, pair


@pair("package core", harmless=20)
def one_package(w: World) -> None:
    """A release of one package dropped a function."""
    w.harmless(packages=20)
    w.good.install("core", "1.0", "def load(): return 1\n")
    w.bad.install("core", "2.0")
    w.python("import core\ncore.load()\n")


@pair("package codec", harmless=121)
def package_of_a_package(w: World) -> None:
    """The package that is imported calls another one, which fails; both are of other versions."""
    w.harmless(packages=120)
    for side, version, code in (
        (w.good, "1.0", "def decode(x): return x\n"),
        (w.bad, "2.0", "def decode(x): raise ValueError('unsupported frame')\n"),
    ):
        side.install("app", version, "import codec\ndef main(): return codec.decode(b'x')\n")
        side.install("codec", version, code)
    w.python("import app\napp.main()\n")


@pair("package plugin", harmless=60)
def package_is_missing(w: World) -> None:
    """A package that BAD lacks."""
    w.harmless(packages=60)
    w.good.install("plugin", "1.0")
    w.python("import plugin\n")


@pair("package fasthooks", harmless=80)
def package_too_many(w: World) -> None:
    """A package that only BAD has changes another module when Python starts."""
    w.harmless(packages=80)
    code = "import json\ndef loads(*a): raise TypeError('fasthooks: options are gone')\njson.loads = loads\n"
    w.bad.install("fasthooks", "0.1", files={"fasthooks.pth": "import fasthooks\n", "fasthooks.py": code})
    w.python("import json\njson.loads('{}')\n")


@pair("package kernels", harmless=40)
def another_build(w: World) -> None:
    """Two builds of one version."""
    w.harmless(packages=40)
    for side, arch in ((w.good, "sm_90"), (w.bad, "sm_80")):
        side.install(
            "kernels", "1.0", f"ARCH = {arch!r}\ndef run():\n    assert ARCH == 'sm_90', f'no kernel: {{ARCH}}'\n"
        )
    w.python("import kernels\nkernels.run()\n")


@pair("package back", "package front", harmless=80)
def two_packages_together(w: World) -> None:
    """Two packages that work only with each other's old release; the new pair has a bug."""
    w.harmless(packages=80)
    for side, version in ((w.good, "1"), (w.bad, "2")):
        side.install("back", version, f"def answer{version}(): return {version}\n")
        bug = "" if version == "1" else "\n    raise RuntimeError('front 2 is broken')"
        side.install("front", version, f"import back\ndef go():\n    back.answer{version}(){bug}\n")
    w.python("import front\nfront.go()\n")


@pair("package zz-last", harmless=300)
def last_of_three_hundred(w: World) -> None:
    """The last of 301 packages by name; its exception names another module."""
    w.harmless(packages=300)
    w.good.install("zz-last", "1.0", "def size(): return 4\n")
    w.bad.install("zz-last", "2.0", "def size(): return '4'\n")
    w.python("import zz_last\nrange(zz_last.size())\n")


def real(w: World, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    for side, names in ((w.good, good), (w.bad, bad)):
        pip = [sys.executable, "-m", "pip", "--python", str(side.prefix / "bin/python"), "install", "--no-deps", "-q"]
        subprocess.run([*pip, *names], check=True, timeout=300)


@pair("package markupsafe", harmless=27)
def markupsafe_without_soft_unicode(w: World) -> None:
    """Real wheels: Jinja2 2.11 imports what MarkupSafe 2.1 removed; six other real packages differ."""
    w.harmless(packages=21)
    others = ("six", "1.16.0", "1.17.0"), ("idna", "3.6", "3.10"), ("attrs", "23.2.0", "24.2.0")
    more = ("packaging", "23.2", "24.1"), ("click", "8.1.7", "8.1.8"), ("toml", "0.10.1", "0.10.2")
    good, bad = ([f"{row[0]}=={row[side]}" for row in (*others, *more)] for side in (1, 2))
    same = ("jinja2==2.11.3", "setuptools==69.5.1")
    real(w, (*good, *same, "markupsafe==2.0.1"), (*bad, *same, "markupsafe==2.1.5"))
    w.python("import jinja2\nprint(jinja2.Template('{{ a }}').render(a=1))\n")


@pair("package jinja2", harmless=22)
def jinja_and_not_markupsafe(w: World) -> None:
    """Real wheels: the same, but GOOD has a newer Jinja2 and a newer MarkupSafe."""
    w.harmless(packages=21)
    real(w, ("jinja2==3.1.4", "markupsafe==3.0.2"), ("jinja2==2.11.3", "markupsafe==2.1.5", "setuptools==69.5.1"))
    w.python("import jinja2\nprint(jinja2.Template('{{ a }}').render(a=1))\n")


@pair("package cv-full", harmless=20)
def two_packages_own_one_file(w: World) -> None:
    """As opencv-python and opencv-python-headless: only BAD has the second, which overwrote a file of the first."""
    w.harmless(packages=20)
    code = "def show():\n    raise ImportError('libGL.so.1: cannot open shared object file')\n"
    for side in (w.good, w.bad):
        side.install("cv-less", "1.0", files={"cv/__init__.py": "def show(): return 1\n"})
    w.bad.install("cv-full", "1.0", files={"cv/__init__.py": code})
    w.python("import cv\ncv.show()\n")


@pair("package sensor", harmless=60)
def coupled_neighbours(w: World) -> None:
    """One package, among ten pairs of packages of which each works only with its own partner's release."""
    w.harmless(packages=40)
    for side, version in ((w.good, "1"), (w.bad, "2")):
        for n in range(10):
            side.install(f"left{n}", version, f"import right{n}\nassert right{n}.version == version\n")
            side.install(f"right{n}", version)
        side.install("sensor", version, f"def read():\n    assert version == '1', 'sensor {version} has no readings'\n")
    w.python("".join(f"import left{n}\n" for n in range(10)) + "import sensor\nsensor.read()\n")


@pair("package data-tools-x", harmless=25)
def name_of_another_form(w: World) -> None:
    """A distribution that is called `Data.Tools_X` and imported as another name."""
    w.harmless(packages=25)
    w.good.install("Data.Tools_X", "1.0", files={"dtx/__init__.py": "", "dtx/io.py": "def read(): return 1\n"})
    w.bad.install("Data.Tools_X", "1.1", files={"dtx/__init__.py": "", "dtx/reading.py": ""})
    w.python("import dtx.io\ndtx.io.read()\n")


@pair("file debian_like/__init__.py", harmless=30, seen=("packages[debian-like]",))
def package_without_a_record(w: World) -> None:
    """The cause is a package whose files nothing lists (as a distribution installs them)."""
    w.harmless(packages=30)
    w.good.install("debian-like", "1.0", "def f(): return 1\n", listed=False)
    w.bad.install("debian-like", "2.0", "", listed=False)
    w.python("import debian_like\ndebian_like.f()\n")


@pair("file core/__init__.py", harmless=30, seen=())
def file_changed_by_hand(w: World) -> None:
    """Somebody edited a file of a package after it was installed: its RECORD is the same on both sides."""
    w.harmless(packages=30)
    for side in (w.good, w.bad):
        side.install("core", "1.0", "def f(): return 1\n")
    (w.bad.site / "core/__init__.py").write_text("raise ImportError('half of an edit')\n")
    w.python("import core\n")


@pair("limit nofile", "package store", harmless=80, expect=PROVED, seen=("host.nofile", "packages[store]"))
def package_and_limit_together(w: World) -> None:
    """A package keeps more files open since a release, and the limit is low: each alone is enough to fail."""
    w.harmless(packages=79)
    w.good.limits, w.bad.limits = {"nofile": 1024}, {"nofile": 128}
    for side, number in ((w.good, 100), (w.bad, 2000)):
        side.install(
            "store", str(number), f"def open_all():\n    return [open('/dev/null') for _ in range({number})]\n"
        )
    w.python("import resource, store\nassert resource.getrlimit(7)[0] > 200, 'Too many open files'\nstore.open_all()\n")
