"""Programs that start another one, and what they make of its environment: env, sudo, su, timeout, profilers …"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from doctor.flags.way import clusters, containers, ranks, sessions
from doctor.flags.way.launchers import ASSIGNMENT, BASIC, Call, Options, hidden, options
from doctor.flags.way.model import UNSET, Alt
from doctor.parsers.text.shell_lexer import HOLE


def _env(call: Call) -> None:
    found = options(call.argv, ("-u", "--unset", "-C", "--chdir", "-S", "--split-string"))
    sees, rest = call.sees.copy(), found.rest
    if found.has("-i", "--ignore-environment") or rest[:1] == ["-"]:
        rest = rest[1:] if rest[:1] == ["-"] else rest
        sees = sees.cleared(call.step("env -i starts with an empty environment", "env-i"), base=UNSET)
    for name in found.of("-u", "--unset"):
        sees.held[name] = (Alt(None, "no", (call.step(f"env -u {name}", "unset"),)),)
    for text in found.of("-S", "--split-string"):
        rest = [*text.split(), *rest]
    while rest and (made := ASSIGNMENT.fullmatch(rest[0])):
        sees.put(made[1], made[2], call.step(f"env {made[1]}={made[2][:40].replace(HOLE, '…')}"))
        rest = rest[1:]
    call.go_on(rest, sees)


_SUDO_TAKES_TEXT = "-u --user -g --group -h --host -p --prompt -C -T -D -R -r -t -U"
_SUDO_TAKES = tuple(_SUDO_TAKES_TEXT.split())
_KEPT_BY_SUDO = frozenset((*BASIC, "DISPLAY", "XAUTHORITY", "COLORS", "LS_COLORS", "TZ", "LC_ALL", "KRB5CCNAME"))
_NEVER_TEXT = "LD_* _RLD* PYTHONHOME PYTHONPATH PYTHONINSPECT PYTHONUSERBASE PERL* BASH_ENV ENV IFS CDPATH"
_NEVER = tuple(_NEVER_TEXT.split())
"""sudo takes them out even with -E: sudo's own list (env.c, initial_badenv_table)."""


def _sudo(call: Call) -> None:
    found = options(call.argv, _SUDO_TAKES)
    if found.has("-l", "-v", "-k", "-K", "-e", "--edit", "--list"):
        return
    named = {n for value in found.of("--preserve-env") for n in value.split(",") if n}
    every = found.has("-E") or ("--preserve-env", "") in found.given
    step = call.step("sudo resets the environment (unless env_keep in sudoers keeps it)", "sudo")
    never = call.step("sudo removes it, even with -E", "sudo")
    before = call.sees
    if every:
        sees = before.copy()
        for name in before.held:
            if any(fnmatch.fnmatchcase(name, p) for p in _NEVER):
                sees.held[name] = hidden(before.held[name], never)
    else:
        sees = before.cleared(step, lambda n: n in named or n in _KEPT_BY_SUDO)
        for name in named:
            sees.add(name, before.of(name), call.step(f"sudo --preserve-env={name}"))
    sees.may_be(step, *BASIC)
    rest = found.rest
    while rest and (made := ASSIGNMENT.fullmatch(rest[0])):
        sees.put(made[1], made[2], call.step(f"sudo {made[1]}=…"))
        rest = rest[1:]
    if found.has("-i", "--login", "-s", "--shell"):
        sees = (
            sees.unknown(call.step("the shell that sudo starts reads profiles")) if found.has("-i", "--login") else sees
        )
        rest = ["sh", "-c", " ".join(rest)] if rest else []
    call.go_on(rest, sees)


def _su(call: Call) -> None:
    argv = [w for w in call.argv if w not in ("-", "-l", "--login")]
    login = len(argv) < len(call.argv)
    takes = ("-c", "--command", "-s", "--shell", "-g", "-G", "-w", "--whitelist-environment")
    found = options(["su", *argv[1:]], takes)
    found = Options([*found.given, *options(found.rest, takes).given], [])  # those behind the account count too
    texts = found.of("-c", "--command")
    if not texts:
        return
    sees = call.sees.copy()
    if login:
        step = call.step("su - starts a login environment", "su-login")
        kept = {n for value in found.of("-w", "--whitelist-environment") for n in value.split(",")}
        sees = sees.cleared(step, lambda n: n in kept or n == "TERM")
        sees.may_be(step, *BASIC)
    elif not found.has("-m", "-p", "--preserve-environment"):
        sees.may_be(call.step("su sets it"), "HOME", "SHELL", "USER", "LOGNAME", "PATH")
    call.go_on(["sh", "-c", texts[0]], sees)


_WRAPPERS: dict[str, tuple[tuple[str, ...], int]] = {
    **dict.fromkeys(("nohup", "setsid", "chronic", "unbuffer", "catchsegv", "dumb-init", "tini", "ipython"), ((), 0)),
    "time": (("-f", "-o"), 0), "nice": (("-n", "--adjustment"), 0), "ionice": (("-c", "-n", "-p"), 0),
    "stdbuf": (("-i", "-o", "-e"), 0), "exec": (("-a",), 0), "ltrace": (("-e", "-o", "-p", "-s"), 0),
    "strace": (("-e", "-o", "-p", "-s", "-u", "-E"), 0), "xvfb-run": (("-n", "-s", "-e", "-f", "-p", "-w"), 0),
    "numactl": (("-N", "-m", "-C", "-i", "-p", "--cpunodebind", "--membind", "--physcpubind", "--interleave"), 0),
    "timeout": (("-s", "--signal", "-k", "--kill-after"), 1), "taskset": ((), 1), "chrt": ((), 1),
}  # fmt: skip
"""Options with a value of their own, and how many words stand before the program."""
_RUNNERS = {"uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run"}
_SEARCHED_TEXT = """
nsys ncu rocprof rocprofv2 rocprofv3 rocprof-compute omniperf perf gdb valgrind compute-sanitizer rocgdb cuda-gdb py-spy
viztracer scalene
"""
_SEARCHED = frozenset(_SEARCHED_TEXT.split())
_STARTED = re.compile(
    r"(?:\S*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|mpirun|mpiexec|srun|bash|sh|vllm|ray)|\S+\.(?:py|sh)|\./\S+"
)


def _wrapper(call: Call) -> None:
    takes, before = _WRAPPERS[call.argv[0].rpartition("/")[2]]
    call.go_on(options(call.argv, takes).rest[before:])


def _searched(call: Call) -> None:
    """A profiler: it starts what follows its own options."""
    at = next((n for n, word in enumerate(call.argv[1:], 1) if _STARTED.fullmatch(word)), None)
    if at is None:
        call.run.record(call.argv, call.sees, call.frame, call.line)
    else:
        call.go_on(call.argv[at:])


def _xargs(call: Call) -> None:
    """What it reads becomes the last words of the command, or stands where `-I` says."""
    takes = ("-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E", "--max-args", "--max-procs", "--delimiter", "--arg-file")
    found = options(call.argv, takes)
    marks = found.of("-I", "-i", "--replace")
    if marks:
        call.go_on([word.replace(marks[-1] or "{}", HOLE) for word in found.rest])
    elif found.rest:
        call.go_on([*found.rest, HOLE])


def _parallel(call: Call) -> None:
    """GNU parallel puts words into a text that a shell then runs."""
    step = call.step("parallel builds the command from its input")
    call.run.record(call.argv, call.sees.unknown(step), call.frame, call.line)


def _runner(call: Call) -> None:
    found = options(
        call.argv[1:],
        ("--with", "--python", "-p", "--extra", "--group", "--directory", "--project", "--env-file", "--index-url"),
    )
    files = found.has("--env-file")
    sees = call.sees.unknown(call.step("--env-file of uv adds to it")) if files else call.sees
    call.go_on(found.rest, sees)


def _conda_run(call: Call) -> None:
    found = options(call.argv[1:], ("-n", "--name", "-p", "--prefix", "--cwd"))
    step = call.step("conda run sources activate.d scripts, which were not read")
    sees = call.sees.copy()
    sees.may_change(step)
    call.go_on(found.rest, sees)


def handler(argv: list[str]) -> Callable[[Call], None] | None:
    """What follows the program that a command names; None where the program starts nothing else."""
    name = argv[0].rpartition("/")[2]
    second = argv[1] if len(argv) > 1 else ""
    for table in (_TABLE, sessions.TABLE, containers.TABLE, clusters.TABLE, ranks.TABLE):
        if found := table.get(name):
            return found
    if name in _WRAPPERS:
        return _wrapper
    if name in _SEARCHED:
        return _searched
    if _RUNNERS.get(name) == second:
        return _runner
    if name in ("conda", "mamba", "micromamba") and second == "run":
        return _conda_run
    if re.fullmatch(r"python[\d.]*|pypy3?", name):
        return ranks.python
    return None


_TABLE: dict[str, Callable[[Call], None]] = {
    **{"env": _env, "sudo": _sudo, "su": _su, "runuser": _su, "xargs": _xargs, "parallel": _parallel},
}
