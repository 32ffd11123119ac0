"""A real program, linked here, that the real loader starts: which copy it has, and which its own path leads to."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.engine import inside
from doctor.engine.run import Options, examine
from doctor.findings import Report
from doctor.system.live import LiveSystem
from doctor.system.process import ProcessSystem

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler here")
NAME = "libcublas.so.12"
Judged = Callable[..., Report]


def compiled(source: str, *words: str, folder: Path) -> None:
    (folder / "x.c").write_text(source)
    subprocess.run(["gcc", *words[:-1], "-o", words[-1], "x.c"], cwd=folder, check=True, timeout=60)


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judged]:
    """`judged(tags, variable, other)`: the report on a program that waits, linked with these dynamic tags."""
    started: list[subprocess.Popen[bytes]] = []

    def start(tags: str, variable: bool, other: str = "return 2;") -> Report:
        for folder, body in (("own", "return 1;"), ("other", other)):
            (tmp_path / folder).mkdir()
            library = ("-shared", "-fPIC", f"-Wl,-soname,{NAME}", "-Wl,--build-id", f"{folder}/{NAME}")
            compiled(f"int of_library(void){{{body}}}\n", *library, folder=tmp_path)
        main = "#include <unistd.h>\nint of_library(void);\nint main(void){ pause(); return of_library(); }\n"
        (tmp_path / "main.c").write_text(main)
        link = ["gcc", "main.c", "-Lown", f"-l:{NAME}", f"-Wl,{tags},-rpath,$ORIGIN/own", "-o", "program"]
        subprocess.run(link, cwd=tmp_path, check=True, timeout=60)
        environ = {"PATH": os.environ["PATH"]} | ({"LD_LIBRARY_PATH": str(tmp_path / "other")} if variable else {})
        process = subprocess.Popen([str(tmp_path / "program")], env=environ)
        started.append(process)
        while NAME not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
            time.sleep(0.01)
        options = Options(probes=inside.probes(ProcessSystem(process.pid), process.pid), only=("gpu-libs-conflict",))
        return examine(LiveSystem(), options)

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_variable_that_comes_before_the_program_s_runpath(judged: Judged, tmp_path: Path) -> None:
    report = judged("--enable-new-dtags", variable=True)
    (held,) = report.snapshot.process.displaced or ()
    assert (held.key, held.by) == (NAME, "LD_LIBRARY_PATH")
    assert (held.path, held.intended) == (f"{tmp_path}/other/{NAME}", f"{tmp_path}/own/{NAME}")
    (finding,) = report.findings
    assert finding.summary == f"The process loaded {NAME} from LD_LIBRARY_PATH, not its own copy."
    assert finding.remedies[0].steps[0].command == ("env", "-u", "LD_LIBRARY_PATH", "COMMAND")


def test_an_rpath_comes_before_the_variable(judged: Judged) -> None:
    report = judged("--disable-new-dtags", variable=True)
    assert report.snapshot.process.displaced == ()
    assert report.findings == ()


def test_without_the_variable_and_with_the_same_build_nothing_is_wrong(judged: Judged) -> None:
    assert judged("--enable-new-dtags", variable=False).findings == ()


def test_the_same_build_in_another_place_is_no_conflict(judged: Judged) -> None:
    report = judged("--enable-new-dtags", variable=True, other="return 1;")
    (held,) = report.snapshot.process.displaced or ()
    assert held.same_build is True
    assert report.findings == ()
