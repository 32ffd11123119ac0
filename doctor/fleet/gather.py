"""Ask many nodes through what already reaches them: srun, ansible, or ssh with xargs. Each runs `doctor check` there.

Nothing here keeps connections, queues or retries: the engine does. What it says of a node that gave nothing is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from doctor.errors import InputError, ToolError
from doctor.fleet.answers import ANSWERS
from doctor.fleet.emit import CHECK, NAMED, playbook
from doctor.fleet.names import expanded, folded, is_name
from doctor.fleet.views import gpus_of_gres

_SSH = (
    'timeout -k 5 "$3" ssh -o BatchMode=yes -o ConnectTimeout=10 "$1" "$4" </dev/null'
    ' >"$2/$1.json" 2>"$2/$1.err"; '
    'case $? in 124 | 137) echo "no answer within $5 s" >>"$2/$1.err" ;; esac; exit 0'
)
"""Exits with 0: ssh's 255 would make xargs stop. 124 is `timeout`'s, here or on the node."""
_READY = ("idle",)
_FAILED = re.compile(r"srun: error: (?:Node failure on (?P<lost>\S+)|(?P<node>\S+): tasks? [^:]*: (?P<why>.+))")


@dataclass
class Gathered:
    """What an engine did. The reports lie in its folder."""

    expected: list[str]
    reasons: dict[str, str] = field(default_factory=dict)
    """Node -> why the engine asked it nothing or got nothing."""


def by_slurm(
    folder: Path, *, doctor: str, nodes: str | None, partition: str | None, timeout_s: int, options: Sequence[str] = ()
) -> Gathered:
    """All idle nodes, each whole and with all GPUs that Slurm manages there: a step that asks for none is shown none.
    So there is a step for each number of GPUs, side by side. Others are named with Slurm's state. Raises ToolError
    when sinfo fails."""
    gathered, idle = _states(nodes, partition)
    asked = [*([f"--partition={partition}"] if partition else []), *options]
    with ThreadPoolExecutor(max(len(idle), 1)) as steps:
        jobs = [
            steps.submit(_step, folder, members, gpus, doctor, timeout_s, asked)
            for gpus, members in sorted(idle.items())
        ]
    for job in jobs:
        for node, why in job.result().items():
            gathered.reasons.setdefault(node, why)
    return gathered


def _step(
    folder: Path, nodes: list[str], gpus: int, doctor: str, timeout_s: int, asked: Sequence[str]
) -> dict[str, str]:
    """One srun over nodes with that many GPUs -> why nodes gave nothing. The reports go to the folder."""
    minutes = -(-timeout_s // 60)
    argv = ["srun", f"--nodelist={folded(nodes)}", f"--nodes={len(nodes)}", "--ntasks-per-node=1", "--exclusive",
            "--no-kill", f"--wait={timeout_s}", f"--time={minutes + 1}", f"--immediate={timeout_s}",
            "--job-name=doctor-fleet", "--kill-on-bad-exit=0", *([f"--gres=gpu:{gpus}"] if gpus else []),
            f"--output={folder}/{gpus}-%t.out", f"--error={folder}/{gpus}-%t.err", *asked,
            "sh", "-c", NAMED, "sh", doctor, *CHECK]  # fmt: skip
    done = _run(argv, timeout_s * 3 + 60)
    reasons: dict[str, str] = {}
    for line in done.stderr.splitlines():
        if match := _FAILED.search(line[:1000]):
            lost = match["lost"]
            for node in _listed(lost or match["node"]):
                reasons.setdefault(
                    node, f"Slurm: {'node failure' if lost else 'it did not end: ' + match['why'].strip()}"
                )
    if done.returncode and not any(folder.glob(f"{gpus}-*")):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        reasons.update(dict.fromkeys(nodes, f"srun exited with {done.returncode}: {last[:160]}"))
    return reasons


def _states(nodes: str | None, partition: str | None) -> tuple[Gathered, dict[int, list[str]]]:
    """Who is expected; and number of GPUs that Slurm manages -> idle nodes with as many."""
    asked = [
        *([f"--nodes={folded(expanded(nodes))}"] if nodes else []),
        *([f"--partition={partition}"] if partition else []),
    ]
    argv = ["sinfo", "-h", "-N", "-o", "%N|%T|%G|%E", *asked]
    done = _run(argv, 60)
    if done.returncode:
        raise ToolError(argv, done.returncode, done.stdout, done.stderr)
    gathered = Gathered([])
    idle: dict[int, list[str]] = defaultdict(list)
    for line in dict.fromkeys(done.stdout.splitlines()):
        node, state, gres, reason = [*line.split("|", 3), "", "", ""][:4]
        if not is_name(node) or node in gathered.expected:
            continue
        gathered.expected.append(node)
        if state in _READY:
            idle[gpus_of_gres(gres) or 0].append(node)
        else:
            gathered.reasons[node] = f"Slurm: {state}{f' ({reason})' if reason not in ('', 'none') else ''}, not asked"
    missing = set(expanded(nodes)) - set(gathered.expected) if nodes else set()
    gathered.expected += sorted(missing)
    gathered.reasons.update(dict.fromkeys(missing, "Slurm: no such node"))
    return gathered, idle


def _listed(text: str) -> list[str]:
    try:
        return expanded(text)
    except InputError:
        return []


def by_ssh(folder: Path, *, doctor: str, hosts: Iterable[str], timeout_s: int, at_once: int) -> Gathered:
    """`ssh HOST` under xargs, with the user's own keys and configuration; nobody is asked for a password."""
    names = list(dict.fromkeys(hosts))
    for name in names:
        if not is_name(name):
            raise InputError(f"host {name[:60]!r}: no host name")
    command = " ".join(["timeout", str(timeout_s), _word(doctor), *CHECK])
    argv = [
        "xargs",
        "-P",
        str(at_once),
        "-I{}",
        "sh",
        "-c",
        _SSH,
        "sh",
        "{}",
        str(folder),
        str(timeout_s + 15),
        command,
        str(timeout_s),
    ]
    rounds = -(-len(names) // at_once)
    _run(argv, (timeout_s + 30) * rounds, "".join(f"{name}\n" for name in names))
    return Gathered(names)


def _word(doctor: str) -> str:
    """A program's name or path as a word for the shell of the other side."""
    if not re.fullmatch(r"[A-Za-z0-9_./~+-]{1,4096}", doctor):
        raise InputError(f"--doctor {doctor[:60]!r}: letters, digits and _./~+- are taken")
    return doctor


def by_ansible(folder: Path, *, doctor: str, inventory: Path, pattern: str, timeout_s: int, at_once: int) -> Gathered:
    """A play over the user's inventory, which writes one line a host. ToolError when ansible can't list its hosts."""
    if pattern.startswith("-"):
        raise InputError(f"--hosts {pattern[:60]!r}: expected a pattern of ansible")
    listing = ["ansible", "-i", str(inventory), "--list-hosts", pattern]
    done = _run(listing, 120)
    if done.returncode:
        raise ToolError(listing, done.returncode, done.stdout, done.stderr)
    hosts = [line.strip() for line in done.stdout.splitlines()[1:] if is_name(line.strip())]
    play = folder / ".play.yml"
    play.write_text(playbook(_word(doctor), timeout_s))
    argv = ["ansible-playbook", "-i", str(inventory), "--limit", pattern, "--forks", str(at_once),
            "--extra-vars", json.dumps({"reports": str(folder)}), str(play)]  # fmt: skip
    rounds = -(-max(len(hosts), 1) // at_once)
    done = _run(argv, (timeout_s + 60) * rounds + 60)
    play.unlink()
    if not (folder / ANSWERS).exists():
        lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        why = f"ansible-playbook exited with {done.returncode}: {lines[-1].strip()[:160]}"
        return Gathered(hosts, dict.fromkeys(hosts, why))
    return Gathered(hosts)


def _run(argv: Sequence[str], timeout_s: int, given: str = "") -> subprocess.CompletedProcess[str]:
    """InputError where the program is missing; an engine that doesn't end is stopped with all that it started, and what
    it gave is used. It has a session of its own, without the terminal: an ssh that wants a password, or a word on a new
    host key, finds nobody to ask, and fails instead of waiting."""
    try:
        started = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True, env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
        )  # fmt: skip
    except FileNotFoundError:
        raise InputError(f"{argv[0]}: not found; it is what reaches the nodes here") from None
    try:
        output, errors = started.communicate(given, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _stop(started)
        return subprocess.CompletedProcess(argv, 124, "", started.communicate()[1])
    except BaseException:  # Ctrl-C reaches this process alone
        _stop(started)
        raise
    return subprocess.CompletedProcess(argv, started.returncode, output, errors)


def _stop(started: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
