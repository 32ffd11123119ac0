"""Runs programs with a folder as the root of the machine: each in a mount namespace of its own.

A script of the standard library alone, started with `python -I enter.py`: it reads a list of jobs as JSON from standard
input and prints their results as JSON, in the same order. A job:

    root     folder that becomes /
    binds    [[source on this machine, path in the machine], …]: the Python that runs the job, and what it needs
    nodes    [[path, mode, uid, gid], …]: device nodes below /dev
    uid, gids   the account that runs it, the first of gids its own group; only where the kernel lets us be anybody
    argv, environment, timeout_s
    as_user  whether the namespace is made by an account without rights, inside a user namespace

The first word of argv may be `doctor`: its command line then runs in this process, forked after the imports, which
saves most of the time of a run. Result: {"code", "stdout", "stderr"}; "refused" instead where the kernel said no.
"""

from __future__ import annotations

# Text paths and plain system calls, in the order in which the kernel needs them; files that outlive their opener.
# ruff: noqa: PTH101, PTH103, PTH110, PTH112, PTH116, PTH119, PTH120, PTH123, SIM115
import contextlib
import ctypes
import io
import json
import os
import signal
import stat
import sys
import tempfile
import time
import traceback
from typing import IO, Any

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_BIND, _REC, _PRIVATE, _NOSUID = 4096, 16384, 1 << 18, 2
_NULL = os.makedev(1, 3)
_PLAIN_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_AT_ONCE = (os.cpu_count() or 1) + 1
_REFUSED = 125
_Streams = tuple[IO[bytes], IO[bytes]]
"""Standard output and standard error of a job."""


def main() -> None:
    os.umask(0o022)
    jobs = json.load(sys.stdin)
    _warm_up([job for job in jobs if job["argv"][0] == "doctor"])
    json.dump(_run_all(jobs), sys.stdout)


def _warm_up(jobs: list[dict[str, Any]]) -> None:
    """Every probe's imports, a check of the first and the last job's files, and the first text: what that imports and
    loads, the jobs then share."""
    if not jobs:
        return
    sys.path[:0] = [p for p in jobs[0]["imports"] if p not in sys.path]
    from doctor.cli.main import run
    from doctor.engine import registry

    for name in registry.probe_names():  # a check imports them in its children, each of which starts without them
        registry.probe_function(name)
    for root in {jobs[0]["root"]: None, jobs[-1]["root"]: None} if len(jobs) > 1 else ():
        nowhere = io.StringIO()
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            run(["check", "--root", root, "--format", "json"])
    for job in [job for job in jobs if job["argv"][1] == "triage"][:1]:
        with contextlib.redirect_stdout(io.StringIO()):
            run(["triage", job["root"] + job["argv"][2], *job["argv"][3:]])


def _run_all(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results in order; a few jobs run side by side."""
    waiting = list(range(len(jobs)))
    running: dict[int, tuple[int, _Streams, float]] = {}
    done: dict[int, dict[str, Any]] = {}
    while waiting or running:
        while waiting and len(running) < _AT_ONCE:
            number = waiting.pop(0)
            streams: _Streams = tempfile.TemporaryFile(), tempfile.TemporaryFile()
            running[_fork(jobs[number], streams)] = number, streams, time.monotonic() + jobs[number]["timeout_s"]
        for pid in list(running):
            number, held, until = running[pid]
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and time.monotonic() > until:
                os.killpg(pid, signal.SIGKILL)
                ended, status = os.waitpid(pid, 0)
            if ended:
                del running[pid]
                done[number] = _result(os.waitstatus_to_exitcode(status), held)
        time.sleep(0.005)
    return [done[number] for number in range(len(jobs))]


def _result(code: int, streams: _Streams) -> dict[str, Any]:
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read().decode("utf-8", "replace"))
        stream.close()
    if code == _REFUSED and texts[1].startswith("refused: "):
        return {"refused": texts[1].strip()}
    return {"code": code, "stdout": texts[0], "stderr": texts[1]}


def _fork(job: dict[str, Any], streams: _Streams) -> int:
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):  # the child does the same; who comes first wins
            os.setpgid(pid, pid)
        return pid
    code = 1
    try:
        os.setpgid(0, 0)
        for descriptor, stream in zip((1, 2), streams, strict=True):
            os.dup2(stream.fileno(), descriptor)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        code = _child(job)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001 -- a child never returns into the parent's code
        os.write(2, traceback.format_exc().encode())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _child(job: dict[str, Any]) -> int:
    try:
        enter(job)
    except OSError as error:
        os.write(2, f"refused: {error}\n".encode())
        return _REFUSED
    os.environ.clear()
    os.environ.update(job["environment"])
    if job["argv"][0] != "doctor":
        os.execve(job["argv"][0], job["argv"], job["environment"])
    sys.argv = list(job["argv"])
    from doctor.cli.main import main as doctor_main

    doctor_main()
    return 0


def enter(job: dict[str, Any]) -> None:
    """Makes the job's folder this process's machine. OSError where the kernel refuses."""
    root, libc = job["root"], ctypes.CDLL(None, use_errno=True)
    os.stat(root)  # refused where there is none, before anything is made below it
    uid, gid = os.geteuid(), os.getegid()
    _check(libc.unshare(_NEW_MOUNTS | (_NEW_USER if job["as_user"] else 0)), "unshare")
    if job["as_user"]:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as held:
                held.write(text)
    _mount(libc, "none", "/", "", _REC | _PRIVATE)
    for source, place in job["binds"]:
        target = _target(root, place, folder=os.path.isdir(source))
        _mount(libc, source, target, "", _BIND | _REC)
    os.makedirs(f"{root}/dev", exist_ok=True)
    _mount(libc, "tmpfs", f"{root}/dev", "tmpfs", _NOSUID, "mode=0755,size=1m")
    _devices(libc, root, job)
    os.chroot(root)
    os.chdir("/")
    if not job["as_user"]:
        os.setgroups(job["gids"])
        os.setresgid(job["gids"][0], job["gids"][0], job["gids"][0])
        os.setresuid(job["uid"], job["uid"], job["uid"])


def _target(root: str, place: str, *, folder: bool) -> str:
    """Where a bind goes: made below the root, links of the machine followed inside of it."""
    path = root + place if folder else os.path.realpath(root + os.path.dirname(place))
    if os.path.commonpath((root, path)) != root:
        raise OSError(f"{place} leads out of {root}")
    os.makedirs(path, exist_ok=True)
    if folder:
        return path
    path += "/" + os.path.basename(place)
    if not os.path.lexists(path):
        with open(path, "wb"):
            pass
    return path


def _devices(libc: ctypes.CDLL, root: str, job: dict[str, Any]) -> None:
    """The nodes of any machine, and the job's. Its own are the null device by another name, so that opening one
    answers by its owner and mode, and never reaches a device of this machine. In a user namespace nobody may make
    nodes: there they are this machine's /dev/null, with its owner and mode."""
    os.makedirs(f"{root}/dev/shm", mode=0o1777, exist_ok=True)
    os.chmod(f"{root}/dev/shm", 0o1777)
    for name in _PLAIN_NODES:
        if os.path.exists(f"/dev/{name}"):
            _mount(libc, f"/dev/{name}", _target(root, f"/dev/{name}", folder=False), "", _BIND)
    for path, mode, uid, gid in job["nodes"]:
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        if job["as_user"]:
            _mount(libc, "/dev/null", _target(root, path, folder=False), "", _BIND)
        else:
            os.mknod(root + path, stat.S_IFCHR | 0o600, _NULL)
            os.chmod(root + path, mode)
            os.chown(root + path, uid, gid)


def _mount(libc: ctypes.CDLL, source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    told = libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _check(told, f"mount {source} on {target}")


def _check(told: int, what: str) -> None:
    if told:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
