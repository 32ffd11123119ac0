"""Lost variables of pasted scripts and of the processes above a running one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.engine.pasted import judge_pasted
from doctor.engine.ways import left_behind, probe
from doctor.facts.sheet import FactSheet
from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.triage.read import read_pasted
from tests.probes.pretend import Pretend

FENCE = "It crashes with an error:\n```bash\n{}\n```\n"
SET = "export NCCL_DEBUG=INFO\n"


def named(text: str) -> list[Finding]:
    report = judge_pasted(read_pasted([text.encode()]), Knowledge())
    return [f for f in report.findings if f.rule in ("env-not-seen-by-service", "env-flag-not-passed-on")]


@pytest.mark.parametrize(
    ("script", "rule", "line"),
    [
        (f"{SET}sudo torchrun t.py", "env-not-seen-by-service", 3),
        ("$ export NCCL_DEBUG=INFO\n$ docker run img python t.py\nRuntimeError", "env-not-seen-by-service", 3),
        (f"{SET}srun --export=NONE python t.py", "env-flag-not-passed-on", 3),
        (f"{SET}export NCCL_ALGO=Ring\nsudo python t.py", "env-not-seen-by-service", 4),
        ("FROM x\nRUN export NCCL_DEBUG=INFO", "env-flag-not-passed-on", 4),
        ("[Unit]\nEnvironment=HSA_XNACK=1\n[Service]\nExecStart=/bin/x", "env-not-seen-by-service", 4),
    ],
)
def test_a_script_in_a_text(script: str, rule: str, line: int) -> None:
    (finding,) = named(FENCE.format(script))
    assert (finding.rule, finding.evidence[0].source) == (rule, f"text:{line}")


@pytest.mark.parametrize(
    "text",
    [
        FENCE.format(f"{SET}sudo -E torchrun t.py"),
        FENCE.format(f"{SET}python t.py\nsudo python t.py"),
        FENCE.format("$ docker run -it img\n# export NCCL_DEBUG=INFO\n$ sudo python t.py"),
        FENCE.format("$ ssh host\n$ export NCCL_DEBUG=INFO") + FENCE.format("$ sudo python t.py"),  # other shells
        FENCE.format("$ docker exec -it box bash\n$ export NCCL_DEBUG=INFO\n$ python t.py"),
        "I use export NCCL_DEBUG=INFO and sudo python t.py\n",
    ],
)
def test_what_may_arrive_is_not_named(text: str) -> None:
    assert named(text) == []


def _lost(root: Path, processes: Mapping[int, tuple[int, str, str]]) -> list[str]:
    """pid → parent, environment, command; the first is looked at."""
    files = {}
    for pid, (parent, env, command) in processes.items():
        files[f"proc/{pid}/environ"] = env.replace(" ", "\0") + "\0"
        files[f"proc/{pid}/cmdline"] = command.replace(" ", "\0") + "\0"
        files[f"proc/{pid}/status"] = f"Name:\tx\nPPid:\t{parent}\n"
    sheet = FactSheet()
    probe(Pretend(root, files), sheet, next(iter(processes)))
    return [f"{row['name']} {row['step']}" for row in sheet.get("lost_variables") or ()]


def test_a_process_above_has_it(tmp_path: Path) -> None:
    shell = (1, "NCCL_DEBUG=INFO PYTHONPATH=/x A=1", "bash")
    sudo = (8, "NCCL_DEBUG=INFO PYTHONPATH=/x A=1", "sudo python t.py")
    assert _lost(tmp_path, {9: (7, "A=1", "python t.py"), 7: sudo, 8: shell}) == ["NCCL_DEBUG sudo"]
    assert _lost(tmp_path, {9: (7, "NCCL_DEBUG=WARN", "python t.py"), 7: sudo, 8: shell}) == []
    assert _lost(tmp_path, {9: (8, "A=1", "python t.py"), 8: shell}) == []  # the shell may have unset it
    assert _lost(tmp_path, {9: (7, "A=1", "python t.py"), 7: (1, "A=1", "sudo -E python t.py")}) == []


def test_what_a_container_is_not_passed_is_named() -> None:
    env = {"NCCL_DEBUG": "INFO", "HSA_XNACK": "1", "CUDA_HOME": "/usr/local/cuda", "HOME": "/root"}
    argv = ["docker", "run", "--rm", "--env", "HSA_XNACK", "img", "python", "t.py"]
    assert left_behind(env, argv) == ("NCCL_DEBUG",)
    assert left_behind(env, [*argv[:3], "--env=NCCL_DEBUG", *argv[3:]]) == ()
