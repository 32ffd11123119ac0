"""The smallest change with which a command works, found by running it in copies of small environments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from doctor.errors import InputError
from doctor.why.boxes import Box
from doctor.why.local import Local, local
from doctor.why.prove import Proof, _search, prove
from doctor.why.runs import Limits, Runner
from doctor.why.scratch import Change
from doctor.why.trial import Disk, Ended


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two virtual environments of twenty packages each, in other versions."""
    root = tmp_path_factory.mktemp("environments")
    made = []
    for side, version in (("good", "1.0"), ("bad", "2.0")):
        venv.create(root / side, symlinks=True)
        site = next((root / side).glob("lib/python3.*/site-packages"))
        for number in range(20):
            package(site, f"part{number}", version)
        made.append(root / side / "bin/python")
    return made[0], made[1]


def package(site: Path, name: str, version: str) -> None:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (site / f"{name}.py").write_text(f"version = {version!r}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name}.py,,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")


def side(python: Path, **variables: str) -> Local:
    found = local(str(python), None)
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return Local({**base, **variables}, found.prefix, found.packages)


def run(good: Local, bad: Local, code: str, **limits: object) -> Proof:
    return prove(good, bad, ["python", "-c", code], Limits(**limits), lambda _line: None)  # type: ignore[arg-type]


def test_one_package_of_twenty(environments: tuple[Path, Path]) -> None:
    good, bad = environments
    before = sorted((p, p.stat().st_mtime_ns) for p in bad.parent.parent.rglob("*"))
    proof = run(side(good), side(bad), "import part7; assert part7.version == '1.0'")
    assert proof.minimal == (("package", "part7"),)
    assert proof.runs <= 2 * 5 + 10
    assert "part7: 2.0 -> 1.0" in proof.text(("good", "bad"))
    assert sorted((p, p.stat().st_mtime_ns) for p in bad.parent.parent.rglob("*")) == before


def test_a_package_and_a_variable_that_only_together_do_it(environments: tuple[Path, Path]) -> None:
    good, bad = environments
    code = "import os, part3; assert part3.version == '1.0' and 'SLOW_PATH' not in os.environ"
    proof = run(side(good), side(bad, SLOW_PATH="1", OTHER="1"), code)
    assert set(proof.minimal) == {("package", "part3"), ("variable", "SLOW_PATH")}


def test_what_nothing_changes_is_left_to_driver_and_hardware(environments: tuple[Path, Path]) -> None:
    proof = run(side(environments[0]), side(environments[1]), "raise SystemExit(1)")
    assert proof.minimal == ()
    assert "and in GOOD too" in proof.note


def test_where_bad_works_there_is_nothing_to_explain(environments: tuple[Path, Path]) -> None:
    assert "nothing to explain" in run(side(environments[0]), side(environments[1]), "pass").note


def test_where_nothing_differs_it_still_says_which_side_fails(environments: tuple[Path, Path]) -> None:
    good = side(environments[0])
    assert "fails in BAD (exit 1), and in GOOD too" in run(good, good, "raise SystemExit(1)").note
    assert "works on BAD as it is" in run(good, good, "pass").note


class Sometimes:
    """Works in so many of ten runs with `cause`, and in so many without."""

    found: tuple[Change, ...] = tuple(("variable", f"V{n}") for n in range(30))
    begins = as_it_is = ""
    identity, remains = None, ("GOOD's own", "all")

    def __init__(self, cause: str, with_it: int, without: int) -> None:
        self.cause, self.shares, self.random = cause, {True: with_it, False: without}, Random(1)
        self.left: dict[bool, list[int]] = {True: [], False: []}

    def run(self, which: Sequence[Change], _command: list[str], _seconds: float) -> Ended:
        has = ("variable", self.cause) in which
        if not self.left[has]:
            self.left[has] = self.random.sample([0] * self.shares[has] + [1] * (10 - self.shares[has]), 10)
        return Ended(self.left[has].pop())

    def run_good(self, _command: list[str], _seconds: float) -> Ended:
        return Ended(0)

    def values(self, _change: Change) -> tuple[str, str]:
        return "1", "2"


@pytest.mark.parametrize(
    ("with_it", "without", "cause", "note"),
    [
        (10, 0, "V21", ""),
        (8, 0, "V21", "in 0 of 10 on BAD."),
        (10, 2, "V21", "it works in 10 of 10 runs with this, and in "),
        (5, 5, "", "too small to search for its cause"),
        (10, 6, "", "too small to search for its cause"),
        (0, 0, "", "What remains is GOOD's own"),
        (10, 10, "", "nothing to explain"),
    ],
)
def test_a_flaky_command_is_claimed_nothing_of_by_chance(with_it: int, without: int, cause: str, note: str) -> None:
    trial = Sometimes("V21", with_it, without)
    found, words = _search(Runner(trial, [], Limits(), lambda _line: None), trial)
    assert [name for _, name in found] == [cause] * bool(cause)
    assert note in words
    assert bool(note) == bool(words)


def test_a_budget_keeps_what_is_known(environments: tuple[Path, Path]) -> None:
    code = "import part1, part18; assert part1.version == part18.version == '1.0'"
    proof = run(side(environments[0]), side(environments[1]), code, runs=6)
    assert proof.note.startswith("The budget ended")
    assert {("package", "part1"), ("package", "part18")} <= set(proof.minimal)


def test_runs_side_by_side_do_not_meet_and_find_the_same(environments: tuple[Path, Path], tmp_path: Path) -> None:
    """Each counts the runs that are under way, and leaves a file in its own copy of the environment."""
    code = (
        f"import os, sys, time, part1; from pathlib import Path; here = Path({str(tmp_path)!r})\n"
        "mine = Path(sys.prefix, 'x')\n"
        "print(*here.iterdir(), file=open(here.parent / f'{here.name}.{os.getpid()}', 'w')); assert not mine.exists()\n"
        "run = here / str(os.getpid()); run.touch(); mine.touch(); time.sleep(0.2); run.unlink()\n"
        "assert part1.version == os.environ['A'] == '1.0'"
    )
    sides = side(environments[0], A="1.0"), side(environments[1], A="2.0")
    proof = run(*sides, code, jobs=3)
    seen = [path.read_text().split() for path in tmp_path.parent.glob(f"{tmp_path.name}.*")]
    assert set(proof.minimal) == {("package", "part1"), ("variable", "A")}
    assert max(map(len, seen)) == 2
    assert proof.runs == len(seen)


def test_containers_run_one_at_a_time() -> None:
    box = Box("docker", "a", "sha256:1", {})
    with pytest.raises(InputError, match="--jobs is for sides without a container"):
        prove(box, box, ["true"], Limits(jobs=2), lambda _line: None)


def test_a_log_is_taken_up_again(environments: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad, code = side(environments[0]), side(environments[1]), "import part9; assert part9.version == '1.0'"
    first = run(good, bad, code, log=tmp_path / "log")
    again = run(good, bad, code, log=tmp_path / "log")
    assert again.minimal == first.minimal
    assert again.runs == 0


def test_a_command_that_hangs_or_removes_its_folder_fails_and_leaves_nothing(environments: tuple[Path, Path]) -> None:
    code = "import os, shutil, part2, time; shutil.rmtree(os.getcwd()); part2.version == '1.0' or time.sleep(60)"
    proof = run(side(environments[0]), side(environments[1]), code, timeout_s=2, runs=5)
    assert proof.runs <= 5


def test_a_daemon_that_it_leaves_is_ended(environments: tuple[Path, Path], tmp_path: Path) -> None:
    code = f"""import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid())); time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists({str(tmp_path / "pid")!r}): time.sleep(0.01)
raise SystemExit(1)"""
    run(side(environments[0]), side(environments[1]), code, runs=4)
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_a_working_directory_that_shadows_a_module(environments: tuple[Path, Path], tmp_path: Path) -> None:
    folders = tmp_path / "good", tmp_path / "bad"
    for folder in folders:
        folder.mkdir()
    (folders[1] / "random.py").write_text("raise ImportError\n")
    good, bad = (replace(side(environments[0]), folder=folder) for folder in folders)
    proof = run(good, bad, "import random; open('made', 'w').close()")
    assert proof.minimal == (("folder", "working directory"),)
    assert [p.name for p in sorted(tmp_path.rglob("*"))] == ["bad", "random.py", "good"]


def test_a_working_directory_that_is_too_large_is_named(
    environments: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.why.scratch._LARGEST", 100)
    (tmp_path / "file").write_text("x")
    proof = run(replace(side(environments[0]), folder=tmp_path), side(environments[0]), "open('file')")
    assert "the working directory, which is too large to be copied for each run" in proof.note


def test_a_command_that_fills_the_disk_is_stopped(
    environments: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter([1 << 40] * 3 + [1 << 20] * 1000)
    monkeypatch.setattr(Disk, "_free", lambda _self: next(sizes))
    with pytest.raises(InputError, match="COMMAND filled the disk"):
        run(side(environments[0]), side(environments[1]), "import time; time.sleep(60)")


def test_temporary_files_of_the_command_go_with_the_run(environments: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad = (side(python, TMPDIR=str(tmp_path)) for python in environments)
    code = "import part7, tempfile; open(tempfile.mkstemp()[1], 'w').close(); assert part7.version == '1.0'"
    assert run(good, bad, code).minimal == (("package", "part7"),)
    assert list(tmp_path.iterdir()) == []


def test_other_pythons_are_refused(environments: tuple[Path, Path], tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "lib/python3.6/site-packages").mkdir(parents=True)
    with pytest.raises(InputError, match=r"python3\.6"):
        run(Local({}, old, {}), side(environments[1]), "pass")


def test_a_bundle_can_not_be_run() -> None:
    with pytest.raises(InputError, match="COMMAND can't run on it"):
        local("/nonexistent/bundle.tar.gz", None)


def test_variables_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("A=1\nB=x=y\n")
    assert local(sys.executable, tmp_path / "env").environment == {"A": "1", "B": "x=y"}


def test_a_command_that_fails_in_good_too_accuses_nothing_of_this_machine(environments: tuple[Path, Path]) -> None:
    proof = run(side(environments[0]), side(environments[1]), "import no_such_module")
    assert proof.minimal == ()
    assert "and in GOOD too. What remains, most suspect first: COMMAND itself" in proof.note


def test_a_program_that_only_good_has_is_found(tmp_path: Path) -> None:
    made = []
    for name in ("good", "bad"):
        venv.create(tmp_path / name, symlinks=True)
        made.append(tmp_path / name / "bin/python")
    site = next((tmp_path / "good").glob("lib/python3.*/site-packages"))
    package(site, "tool", "1.0")
    script = tmp_path / "good/bin/tool"
    script.write_text(f"#!{tmp_path}/good/bin/python\nimport tool\n")
    script.chmod(0o755)
    with (site / "tool-1.0.dist-info/RECORD").open("a") as record:
        record.write("../../../bin/tool,,\n")
    proof = prove(side(made[0]), side(made[1]), ["tool"], Limits(), lambda _line: None)
    assert proof.minimal == (("package", "tool"),)


def test_the_environment_that_the_command_names_is_the_copy(environments: tuple[Path, Path]) -> None:
    good, bad = environments
    command = [str(bad), "-c", "import part4, sys; assert part4.version == '1.0'"]
    assert prove(side(good), side(bad), command, Limits(), lambda _line: None).minimal == (("package", "part4"),)


def test_a_log_of_another_comparison_is_refused(environments: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad = side(environments[0]), side(environments[1])
    code = "import part9; assert part9.version == '1.0'"
    run(good, bad, code, log=tmp_path / "log")
    for sides, other in (((bad, good), code), ((good, bad), "pass"), ((side(environments[0], A="1"), bad), code)):
        with pytest.raises(InputError, match="a log of other sides"):
            run(*sides, other, log=tmp_path / "log")


@pytest.mark.parametrize("content", ["no json\n", "[1]\n", '{"schema": 1}\n', "[" * 100_000 + "\n", "\0\n"])
def test_what_is_no_log_is_refused(environments: tuple[Path, Path], tmp_path: Path, content: str) -> None:
    (tmp_path / "log").write_text(content)
    with pytest.raises(InputError, match="--resume"):
        run(side(environments[0]), side(environments[1]), "pass", log=tmp_path / "log")
    assert (tmp_path / "log").read_text() == content


def test_a_line_that_was_cut_is_run_again(environments: tuple[Path, Path], tmp_path: Path) -> None:
    good, bad, code = side(environments[0]), side(environments[1]), "import part9; assert part9.version == '1.0'"
    first = run(good, bad, code, log=tmp_path / "log")
    text = (tmp_path / "log").read_text()
    (tmp_path / "log").write_text(text[:-20])
    again = run(good, bad, code, log=tmp_path / "log")
    assert (again.minimal, again.runs) == (first.minimal, 1)


def test_a_limit_of_open_files(environments: tuple[Path, Path]) -> None:
    good, bad = side(environments[0]), side(environments[0])
    low, high = ({**good.limits, "nofile": number} for number in (64, 256))
    code = "import os; [os.dup(0) for _ in range(100)]"
    proof = run(replace(good, limits=high), replace(bad, limits=low), code)
    assert proof.minimal == (("limit", "nofile"),)
    assert "nofile: 64 -> 256" in proof.text(("good", "bad"))


def test_secrets_are_not_printed(environments: tuple[Path, Path]) -> None:
    python = environments[0]
    code = "import os; assert os.environ['HF_TOKEN'].startswith('hf_good')"
    good, bad = (side(python, HF_TOKEN=f"hf_{name}" + "q1w2e3r4t5z6" * 3) for name in ("good", "bad"))
    proof = run(good, bad, code)
    assert proof.minimal == (("variable", "HF_TOKEN"),)
    assert "HF_TOKEN: the values differ" in proof.text(("good", "bad"))
    assert "q1w2e3" not in str(proof.as_data(("good", "bad")))


@pytest.mark.parametrize(
    "code",
    [
        "open('/dev/tty')",
        "import sys; sys.stdout.buffer.write(bytes(range(256)) * 400000); raise SystemExit(1)",
        "import os, signal; os.kill(0, signal.SIGKILL)",
        "import os; os.chmod('.', 0); raise SystemExit(1)",
        "import os, shutil, sys; shutil.rmtree(sys.prefix); raise SystemExit(1)",
        "import os, shutil; shutil.rmtree(os.path.dirname(os.getcwd())); raise SystemExit(1)",
        "input()",
    ],
)
def test_hostile_commands_fail_and_leave_nothing(
    environments: tuple[Path, Path], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    proof = run(side(environments[0]), side(environments[1]), code, timeout_s=30)
    assert proof.minimal == ()
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_what_is_known_and_leaves_nothing(environments: tuple[Path, Path], tmp_path: Path) -> None:
    code = "import part1, part18, time; time.sleep(0.2); assert part1.version == part18.version == '1.0'"
    good, bad = (str(python.parent.parent) for python in environments)
    argv = [sys.executable, "-m", "doctor", "why", good, bad, "--prove", "--", "python", "-c", code]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("run 6"):
                process.send_signal(signal.SIGINT)
                break
        shown = process.stdout.read() if process.stdout else ""
    assert process.returncode == 130
    assert "Interrupted; this is the smallest set so far." in shown
    assert "part1: 2.0 -> 1.0" in shown
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_a_thread_starts(
    environments: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    starts, start = iter(range(4)), threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if next(starts) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    slow = "import part1, time; time.sleep(0.2); assert part1.version == '1.0'"
    proof = run(side(environments[0]), side(environments[1]), slow, jobs=2)
    assert proof.interrupted
    assert list(tmp_path.iterdir()) == []


def test_the_limit_of_a_running_process() -> None:
    """Of a service every limit that is read of a process is carried."""
    service = ["sh", "-c", "ulimit -Sn 77; exec sleep 60"]
    with subprocess.Popen(service, env={"PATH": "/usr/bin:/bin"}) as running:
        while Path(f"/proc/{running.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        good, bad = local("this", None), local(f"pid:{running.pid}", None)
        running.kill()
    folder = bad.folder
    good = replace(good, environment=bad.environment, prefix=None, packages={}, folder=folder)
    proof = prove(good, bad, ["sh", "-c", "test $(ulimit -n) -gt 77"], Limits(), lambda _line: None)
    assert proof.minimal == (("limit", "nofile"),)
