"""Commands in-process: arguments, exit code, both streams."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli.bundle import _moment
from doctor.cli.check import _python
from doctor.cli.main import run
from tests.each import each
from tests.started import started


@pytest.fixture(autouse=True)
def own_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DOCTOR_DEBUG", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A machine of which nothing is known."""
    (tmp_path / "root" / "proc").mkdir(parents=True)
    return str(tmp_path / "root")


CASES = [
    (["version"], 0, "0.", ""),
    (["--help"], 0, "Diagnose:", ""),
    ([], 0, "Diagnose:", ""),
    (["rules"], 0, "no-gpu-found", ""),
    (["explain", "no-gpu-found"], 0, "## What it finds", ""),
    (["explain", "gfx1031"], 0, "torch[device-gfx1031]==", ""),
    (["explain", "gfx9999"], 2, "", "gfx9999 is not in the knowledge base"),
    (["explain", "no-gpu-fond"], 2, "", "did you mean no-gpu-found?"),
    (["profiles", "list"], 0, "rocm7.14+vllm    -      -      V", ""),
    (["profiles", "validate", "h100+cuda13.0+vllm"], 0, "valid", ""),
    (["profiles"], 2, "", "validate"),
    (["profiles", "validate"], 2, "", "Missing argument"),
    (["image", "lint"], 2, "", "Missing argument"),
    (["image", "lint", "Dockerfile", "--format", "xml"], 2, "", "(choose from text, json, sarif)"),
    (["image", "verify", "x", "--format", "xml"], 2, "", "invalid --format 'xml' (choose from text, json)"),
    (["gpu-code"], 2, "", "Missing argument"),
    (["bogus"], 2, "", "No such command"),
    (["check", "--bogus"], 2, "", "No such option"),
    (["check", "--fomat", "json"], 2, "", "No such option: --fomat; did you mean --format?"),
    (["bench", "--nope"], 2, "", "No such option: --nope; see `doctor bench --help`"),
    (["check", "--format", "xml"], 2, "", "(choose from text, github, html, json, jsonl, junit,"),
    (["check", "--fail-on", "info"], 2, "", "(choose from error, warning, never)"),
    (["check", "--from", "/nowhere"], 2, "", "no such file or folder"),
    (["check", "--root", "/nowhere"], 2, "", "no such file or folder"),
    (["check", "--profile", "nonsense"], 2, "", "no profile 'nonsense'"),
    (["check", "--allow", "/nowhere"], 2, "", "/nowhere"),
    (["check", "--unredacted"], 2, "", "needs -o FILE"),
]


@pytest.mark.parametrize(
    ("args", "code", "out", "err"), CASES, ids=lambda v: " ".join(v) if isinstance(v, list) else ""
)
def test_command(args: list[str], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(args) == code
    shown = capsys.readouterr()
    assert out in shown.out
    assert err in shown.err
    if code == 2:
        assert shown.out == ""
        assert "Traceback" not in shown.err


def test_a_tree_of_which_nothing_is_known_is_unknown(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", root]) == 0
    assert "Could not tell whether a GPU is here" in capsys.readouterr().out


def test_strict_says_that_nothing_could_be_judged(root: str) -> None:
    assert run(["check", "--root", root, "--strict", "--profile", "h100+cuda13.0+vllm"]) == 4


def test_json_owns_stdout(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", root, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "doctor.report/2"


def test_a_report_in_a_file_is_for_its_owner_only(root: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert run(["check", "--root", root, "--format", "json", "--unredacted", "-o", str(path)]) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["doctor"]


def test_an_unexpected_fault_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fault() -> None:
        raise RuntimeError("boom\x1b[31m")

    monkeypatch.setattr("doctor.engine.registry.checks", fault)
    assert run(["rules"]) == 3
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "DOCTOR_DEBUG=1" in shown
    assert "\x1b" not in shown


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("doctor.engine.registry.checks", interrupt)
    assert run(["rules"]) == 130


_INTERRUPTED = """
import os, runpy, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["doctor", "version"]
runpy.run_module("doctor", run_name="__main__")
"""


def test_ctrl_c_while_the_program_still_loads_shows_no_traceback() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits it ignored
    try:
        _loads_without_a_traceback()
    finally:
        signal.signal(signal.SIGINT, before)


def _loads_without_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
    code = "import signal, doctor.cli.main; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"True\n"


def test_help_imports_nothing_heavy() -> None:
    heavy = "[m for m in ('pydantic', 'rich', 'yaml') if m in sys.modules]"
    code = f"import sys; from doctor.cli.main import run; run(['--help']); print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m doctor rules | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.returncode == 0


def test_output_never_replaces_what_is_no_regular_file(
    root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As root, renaming over /dev/null or /dev/stdout would take it away from the whole machine."""
    kept = tmp_path / "kept"
    kept.write_text("kept")
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to(kept)
    for path in (fifo, link):
        assert run(["check", "--root", root, "-o", str(path)]) == 2
        assert "is not a regular file" in capsys.readouterr().err
    assert fifo.is_fifo()
    assert link.is_symlink()
    assert kept.read_text() == "kept"


@pytest.mark.parametrize(("redirect", "said"), [(">/dev/full", "No space left"), (">&-", "stdout is closed")])
def test_a_stdout_that_takes_nothing_is_said(root: str, redirect: str, said: str) -> None:
    command = f'"{sys.executable}" -m doctor check --root "{root}" {redirect}'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@each("words", ["rules", "version", "--help", "explain no-gpu-found", "completion bash"])
def test_what_only_lists_says_it_too(words: str) -> None:
    assert _told(words, ">/dev/full") == (2, "doctor: stdout: No space left on device\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["check", "--python", "/bin/ls"], "no Python by its name"),
        (["check", "--since", "2199-01-01"], "lies ahead"),
        (["triage", ""], "the name of a file is empty"),
        (["bundle", "--max-size", "0", "--dry-run"], "--max-size"),
        (["bundle", "--map", "/", "-o", "/nowhere/b.tar.gz"], "--map /: is not a regular file"),
        (["stack", "--from", "x", "--root", "y"], "--from and --root exclude each other"),
        (["stack", "--from", "/nowhere"], "no such file or folder"),
    ],
)
def test_an_option_that_makes_no_sense_is_said(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(args) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert said in told.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_page_is_whole_in_every_encoding_of_stdout(root: str, encoding: str) -> None:
    done = started(f"check --root {root} --format html", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"&#" in done.stdout
    assert done.stdout.decode(encoding).endswith("</html>\n")


def test_the_others_of_several_profiles_and_dockerfiles_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profiles", "validate", "none-such", "mi300x+rocm7.2"]) == 2
    assert capsys.readouterr().out == "mi300x+rocm7.2: valid\n"
    (tmp_path / "Dockerfile").write_text("FROM ubuntu:24.04\nENV HSA_OVERRIDE_GFX_VERSION=9.4.2\n")
    assert run(["image", "lint", str(tmp_path / "none"), str(tmp_path / "Dockerfile"), "--format", "json"]) == 2
    said = capsys.readouterr()
    assert "none: No such file" in said.err
    assert all(fault["file"].endswith("Dockerfile") for fault in json.loads(said.out)["faults"])


def test_bases_by_tag_are_one_remark_for_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.Dockerfile", "b.Dockerfile"):
        (tmp_path / name).write_text("FROM ubuntu:24.04\nRUN true\n")
    assert run(["image", "lint", str(tmp_path / "a.Dockerfile"), str(tmp_path / "b.Dockerfile")]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "2 files name base images by tag, and a tag moves (info, image-base-moves). Fix: FROM ubuntu"
    )
    assert said.count("\n") == 1


def _told(words: str, redirect: str) -> tuple[int, str]:
    """Exit code and stderr of a command of a process of its own, since streams are the process's."""
    done = started(words, redirect)
    return done.returncode, done.stderr.decode()


@each(
    "words, redirect, said",
    [
        ("knowledge validate xids", ">/dev/full", "stdout: No space left on device"),
        ("profiles validate mi300x+rocm7.2", ">/dev/full", "stdout: No space left on device"),
        ("profiles validate mi300x+rocm7.2", "</dev/null >&-", "stdout is closed"),
        ("profiles validate mi300x+rocm7.2", "</dev/null 1</dev/null", "stdout: Bad file descriptor"),
    ],
)
def test_what_confirms_in_a_line_says_that_it_could_not(words: str, redirect: str, said: str) -> None:
    assert _told(words, redirect) == (2, f"doctor: {said}\n")


@pytest.mark.parametrize("words", ["-h", "check --help"])
def test_a_help_text_needs_a_stdout_for_writing(words: str) -> None:
    assert _told(words, "</dev/null 1</dev/null") == (2, "doctor: stdout: Bad file descriptor\n")


@each(
    "contract, redirect",
    [
        ("slurm-health", ">/dev/full"),
        ("npd", "</dev/null >&-"),
        ("slurm-prolog", ">/dev/full"),
        ("slurm-prolog", "</dev/null >&-"),
        ("slurm-prolog", "</dev/null 1</dev/null"),
    ],
)
def test_a_monitor_s_code_does_not_depend_on_who_reads_the_line(root: str, contract: str, redirect: str) -> None:
    """2 from a prolog would drain a node that is well."""
    unknown = {"npd": 2}.get(contract, 0)
    assert _told(f'fleet health --for {contract} --root "{root}"', redirect)[0] == unknown


@pytest.mark.parametrize("redirect", ["2>/dev/full", "2>&-"])
def test_a_message_that_nobody_takes_is_no_fault(tmp_path: Path, redirect: str) -> None:
    """Each of these has something to say on stderr, and a code of its own."""
    (tmp_path / "wrong.toml").write_text("schema = 1\nname = 3\n")
    assert _told(f'profiles validate "{tmp_path}/wrong.toml"', redirect)[0] == 2
    assert _told(f'triage "{tmp_path}/missing.txt"', redirect)[0] == 2
    assert _told(f'image emit h100-cuda13.0-vllm --check -o "{tmp_path}/none"', redirect)[0] == 1


def test_a_report_in_a_file_needs_no_stdout(root: str, tmp_path: Path) -> None:
    assert _told(f'stack --root "{root}" -o "{tmp_path}/o"', ">&-") == (0, "")


def test_a_working_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f'cd "{gone}" && rmdir "{gone}" && "{sys.executable}" -m doctor gpu-code x'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "working folder" in done.stderr


@pytest.mark.parametrize("streams", [">/dev/full 2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
def test_the_code_is_right_where_nothing_can_be_said(root: str, streams: str) -> None:
    """1 would say that a problem was found."""
    assert _told(f'check --root "{root}"', streams)[0] == 2


@pytest.mark.parametrize("option", ["--from", "--root", "--python", "--profile", "--allow", "-o"])
def test_a_path_that_the_system_refuses_is_wrong_input(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """3 would say that the doctor failed."""
    assert run(["check", option, "/nowhere/" + "a" * 5000]) == 2
    assert "File name too long" in capsys.readouterr().err


def test_a_configuration_that_may_not_be_entered_is_not_the_user_s(
    root: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """HOME may be another account's, as it is after `sudo -u`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/" + "a" * 5000)
    assert run(["check", "--root", root]) in (0, 1)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("option", ["--pid", "--in", "--profile", "--python"])
def test_an_empty_value_is_not_taken_for_none(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--in "$CONTAINER"` with the variable unset would judge the host."""
    assert run(["check", option, ""]) == 2
    assert f"{option} is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--include", "/nowhere/log", "no such file"),
        ("--pid", "2147483647", "no such process"),
        ("--pid", "-1", "no such process"),
        ("--since", "bogus", "2h, 3d"),
    ],
)
def test_a_bundle_of_what_is_not_there_is_refused(
    option: str, value: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Support would wait for a file that was never in it."""
    assert run(["bundle", "-o", str(tmp_path / "b.tar.gz"), option, value]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_since_of_a_bundle_is_said_as_journalctl_reads_it() -> None:
    """`2h` alone it refuses."""
    assert re.fullmatch(r"2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d", _moment("2h") or "")
    assert _moment("2026-11-20") == "2026-11-20 00:00:00"


def test_a_misspelt_rule_is_refused(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A typo in --only would check nothing and say 0."""
    assert run(["check", "--root", root, "--only", "torch-cpu-only-buid"]) == 2
    assert "torch-cpu-only-build" in capsys.readouterr().err
    assert run(["check", "--root", root, "--skip", "nonsense"]) == 2


def test_a_named_python_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--python", "/nowhere/python"]) == 2
    assert "--python /nowhere/python" in capsys.readouterr().err


def test_a_relative_python_starts_at_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine" / "bin").mkdir(parents=True)
    (tmp_path / "mine" / "bin" / "python").touch(0o755)
    (tmp_path / "python3.11").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for named in ("mine", "mine/bin/python"):
        assert _python(named, live=True) == f"{tmp_path}/{named}"
    assert _python("python3.11", live=True) == "python3.11"
    assert _python("mine", live=False) == "mine"


@pytest.mark.parametrize("command", ["check", "env", "stack"])
@pytest.mark.parametrize("named", ["python-of-nobody", "./gone", "empty", "./text"])
def test_a_python_that_is_not_there_is_not_another_one(
    command: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no program")
    monkeypatch.chdir(tmp_path)
    assert run([command, "--python", named]) == 2
    assert f"--python {named}: no " in capsys.readouterr().err
