"""What `--help` shows, and that what it shows is accepted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import typer

from doctor.cli.choices import choices
from doctor.cli.help_texts import EXAMPLES, SECTIONS, complete
from doctor.cli.main import build, run
from doctor.cli.output import print_prose
from doctor.engine.registry import checks
from doctor.launch import formats
from doctor.launch.asked import WISHES
from tests.cli.parsing import parse
from tests.each import each
from tests.started import started


@each("example", [line for lines in EXAMPLES.values() for line in lines])
def test_every_example_is_a_command_line_that_doctor_accepts(example: str) -> None:
    parse(example)


def test_explained_rules_exist() -> None:
    rules = {check.rule.id for check in checks()}
    assert {line.split()[-1] for line in EXAMPLES["explain"]} <= rules


def test_commands_stand_under_what_somebody_wants_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])
    out = capsys.readouterr().out
    assert out.index("Diagnose:") < out.index("  check ") < out.index("  triage ") < out.index("Containers:")
    assert out.index("Advanced:") < out.index("  gpu-code ")


def test_a_command_shows_examples_and_says_what_options_take(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--help"])
    out = capsys.readouterr().out
    assert "<str>" not in out
    assert "Examples:\n  doctor check\n" in out


def test_options_of_a_command_with_many_are_under_headings(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--help"])
    out = capsys.readouterr().out
    assert out.index("Machine:") < out.index("--in") < out.index("Output:") < out.index("--format") < out.index("--key")
    run(["explain", "--help"])
    assert "Output:" not in capsys.readouterr().out


def test_help_shows_all_that_an_option_takes() -> None:
    options = {p.name: choices(p) for p in typer.main.get_group(build()).commands["run"].params}
    assert set(options["emit"]) == set(formats.names())
    assert set(options["wish"]) == set(WISHES)
    assert options["gpus"] == options["image"] == ()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("check --format js", "json jsonl"),
        ("check --format = js", "json jsonl"),
        ("check --format json --str", "--strict"),
        ("bench --profile rtx4090+cuda13.2", "rtx4090+cuda13.2"),
        ("explain torch-sees", "torch-sees-no-gpu"),
        ("profiles show rtx4090+cuda13.2", "rtx4090+cuda13.2"),
    ],
)
def test_completion_offers_values(words: str, offered: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["completion", "bash"])
    script = f"{capsys.readouterr().out}\nCOMP_WORDS=(doctor {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _doctor"
    done = subprocess.run(
        ["bash", "-c", f'{script}; echo "${{COMPREPLY[*]}}"'], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == offered


def test_help_and_prose_fit_forty_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for name in typer.main.get_group(build()).commands:
        run([name, "--help"])
    run(["rules"])
    print_prose("to copy:\n  $ python -m pip install torch --index-url https://example.org\n")
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 40] == [
        "  $ python -m pip install torch --index-url https://example.org"
    ]


def test_examples_and_headings_are_of_commands_that_exist() -> None:
    group = typer.main.get_group(build())
    complete(group)
    assert set(EXAMPLES) <= set(group.commands)
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(group.commands)


@pytest.mark.parametrize(("words", "suggestion"), [(["chek"], "check"), (["check", "--fromat=text"], "--format")])
def test_a_slip_gets_a_suggestion(words: list[str], suggestion: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert suggestion in capsys.readouterr().err


def test_version_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("0.")


def test_triage_reads_a_pipe_without_a_dash() -> None:
    done = started("triage", stdin=b"No GPU here, only words.")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_triage_alone_in_a_terminal_does_not_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert run(["triage"]) == 2
    assert "dmesg | doctor triage" in capsys.readouterr().err


def test_a_terminal_s_width_is_used_without_python_s_buffer(tmp_path: Path) -> None:
    """Images set PYTHONUNBUFFERED; the stream that takes its buffer's place is still that terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    argv = [sys.executable, "-u", "-m", "doctor", "version", "--help"]
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(argv, stdout=theirs, env=environment, cwd=tmp_path):
        os.close(theirs)
        shown = os.read(ours, 1 << 16).decode()
        with contextlib.suppress(OSError):  # Linux answers the end of a terminal so
            while more := os.read(ours, 1 << 16):
                shown += more.decode()
    os.close(ours)
    assert max(map(len, shown.splitlines())) <= 40
