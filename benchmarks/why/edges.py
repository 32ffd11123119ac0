"""Pairs in which nothing is to be claimed, and commands that behave badly."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.why.world import BAD_WORKS, FLAKY, GOOD_FAILS, PROVED, REFUSED, World, pair


@pair(harmless=40, expect=GOOD_FAILS)
def good_fails_too(w: World) -> None:
    """The module is nowhere."""
    w.harmless(packages=40)
    w.python("import nowhere_to_be_found\n")


@pair(harmless=40, expect=BAD_WORKS)
def bad_works(w: World) -> None:
    """BAD works as it is."""
    w.harmless(packages=20, variables=20)
    w.python("import requests\n")


@pair(harmless=30, expect=FLAKY)
def a_coin(w: World) -> None:
    """It works every second time, on both sides."""
    w.harmless(variables=30)
    w.python("import os\nraise SystemExit(os.urandom(1)[0] % 2)\n")


@pair("variable APP_RING", harmless=30)
def mostly_works_with_good(w: World) -> None:
    """With GOOD's value it works nine times of ten, with BAD's never."""
    w.harmless(variables=30)
    w.good.variables["APP_RING"], w.bad.variables["APP_RING"] = "1", "2"
    w.python(
        "import os\nif os.environ['APP_RING'] != '1' or os.urandom(1)[0] < 26:\n"
        "    raise SystemExit('APP_RING: peer is gone')\n"
    )


@pair("variable APP_RACE", harmless=30)
def rarely_works_with_bad(w: World) -> None:
    """With BAD's value it works once in five times, with GOOD's always."""
    w.harmless(variables=30)
    w.good.variables["APP_RACE"], w.bad.variables["APP_RACE"] = "1", "2"
    w.python(
        "import os\nif os.environ['APP_RACE'] != '1' and os.urandom(1)[0] > 51: raise SystemExit('deadlock avoided')\n"
    )


@pair("variable APP_WAIT", harmless=30)
def hangs(w: World) -> None:
    """BAD hangs, with a child that ignores SIGTERM."""
    w.harmless(variables=30)
    w.good.variables["APP_WAIT"], w.bad.variables["APP_WAIT"] = "0", "600"
    w.command = ["sh", "-c", "trap '' TERM; sleep $APP_WAIT"]
    w.options = ["--timeout", "3"]
    w.said = "Killed"


@pair("variable APP_WORKERS", harmless=30)
def forks(w: World) -> None:
    """It leaves daemons behind, which keep its output open."""
    w.harmless(variables=30)
    w.good.variables["APP_WORKERS"], w.bad.variables["APP_WORKERS"] = "0", "3"
    w.command = ["sh", "-c", "for i in $(seq $APP_WORKERS); do setsid sleep 600 & done; test $APP_WORKERS = 0"]
    w.said = ""


@pair(harmless=30, expect=REFUSED, gives_symptom=False)
def fills_the_disk(w: World) -> None:
    """It writes until the disk is full."""
    w.harmless(variables=30)
    w.scratch = w.root / "small"
    w.scratch.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(w.scratch)], check=True, timeout=20)
    w.command = ["dd", "if=/dev/zero", "of=filled", "bs=1M", "count=4000"]


@pair(harmless=30, expect=GOOD_FAILS)
def needs_a_terminal(w: World) -> None:
    """It asks a question on the terminal."""
    w.harmless(variables=30)
    w.python("print(open('/dev/tty').readline())\n")


@pair("package cleaner", harmless=30)
def removes_its_folder(w: World) -> None:
    """It removes its working directory and its environment, and then fails with BAD's package."""
    w.harmless(packages=30)
    w.good.install("cleaner", "1.0")
    w.bad.install("cleaner", "2.0")
    w.python(
        "import os, shutil, sys, cleaner\nshutil.rmtree(os.getcwd())\nshutil.rmtree(sys.prefix)\n"
        "assert cleaner.version == '1.0', 'cleaner 2.0 is broken'\n"
    )
    w.said = "AssertionError: cleaner 2.0 is broken"


@pair(harmless=0, expect=REFUSED, gives_symptom=False)
def other_interpreters(w: World) -> None:
    """The environments are of Python 3.10 and 3.12."""
    pythons = [shutil.which(f"python3.{n}") for n in (10, 12)]
    for side, python in zip((w.good, w.bad), pythons, strict=True):
        argv = [python or "python3", "-m", "venv", "--without-pip", str(side.root / "venv")]
        subprocess.run(argv, check=True, timeout=60, env={**os.environ, "PYENV_VERSION": "3.10.13:3.12.1"})
    w.names = str(w.good.root / "venv"), str(w.bad.root / "venv")


@pair("variable APP_FILE", harmless=20, expect=GOOD_FAILS)
def a_fact_of_the_machine(w: World) -> None:
    """What it reads of the kernel is the same on both sides of one machine."""
    w.harmless(variables=20)
    w.good.variables["APP_FILE"], w.bad.variables["APP_FILE"] = "a", "b"
    w.python("assert open('/proc/version').read().startswith('Linux version 1.'), 'kernel is too new'\n")


@pair("package core", harmless=45, expect=PROVED)
def folders_as_sides(w: World) -> None:
    """Two environments that are named as folders, and COMMAND names BAD's python."""
    w.harmless(packages=45)
    w.good.install("core", "1.0", "limit = 8\n")
    w.bad.install("core", "2.0", "limit = 4\n")
    w.python("import core\nassert core.limit == 8, core.limit\n")
    w.names = str(w.good.prefix), str(w.bad.prefix)
    w.command[0] = str(w.bad.prefix / "bin/python")


def unmount(root: Path) -> None:
    """What `fills_the_disk` mounted."""
    subprocess.run(["umount", str(root / "small")], check=False, capture_output=True, timeout=20)
