"""Runs programs: found on a trusted PATH, without a shell, in their own session, bounded in time and output.

As root, a program is refused that anybody else could have put there: its file or a folder above it belongs to another
user, or its group (other than root's) or everybody may write it.
"""

from __future__ import annotations

import glob
import os
import selectors
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from doctor.facts.origin import State
from doctor.system import processes
from doctor.system.asked import command_source
from doctor.system.base import Output, Reading
from doctor.system.files import errno_name, state_of

TRUSTED_PATH = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/rocm/bin",
    "/opt/rocm/core*/bin",
    "/usr/lib/wsl/lib",
)
_LOADS_CODE = ("LD_", "PYTHON", "BASH_FUNC_", "PERL5", "DOCKER_", "CONTAINER_HOST", "GCONV_PATH", "BASH_ENV")
"""Variables by which an account could lead our children to other code, or to another machine."""
_LOADS_CODE_EXACT = ("ENV", "IFS", "HSA_TOOLS_LIB", "ROCP_TOOL_LIB", "CUDA_INJECTION64_PATH", "NODE_OPTIONS")
_LINKS = 16


def trusted_folders(patterns: Sequence[str] = TRUSTED_PATH) -> list[str]:
    """The folders that programs are looked for in, patterns resolved."""
    return [folder for pattern in patterns for folder in (sorted(glob.glob(pattern)) if "*" in pattern else [pattern])]


def find(name: str, folders: Sequence[str]) -> str | None:
    """The program's path: itself where it is absolute, otherwise the first executable of that name; None without."""
    candidates = [name] if name.startswith("/") else [f"{folder}/{name}" for folder in folders if "/" not in name]
    return next((c for c in candidates if os.path.isfile(c) and os.access(c, os.X_OK)), None)


def distrust(path: str) -> str | None:
    """Why root must not execute (or load) this file, or None. Links are judged at every step."""
    owners = trusted_owners()
    for place in _steps(path):
        try:
            found = os.stat(place)
        except OSError as error:
            return f"{place}: {errno_name(error)}"
        if found.st_uid not in owners:
            return f"{place} belongs to user {found.st_uid}, not to root"
        if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != 0):
            return f"{place} can be written by others than root"
    return None


def trusted_owners(uid_map: str = "/proc/self/uid_map", overflow: str = "/proc/sys/kernel/overflowuid") -> set[int]:
    """Root, and in a user namespace (a rootless container) the number that stands for all owners outside of it: the
    driver's files, mounted from the host, belong to that one. Such a root has no rights there that could be stolen."""
    try:
        with open(uid_map, encoding="utf-8") as mapped, open(overflow, encoding="utf-8") as number:
            whole = mapped.read(4096).split() == ["0", "0", str(2**32 - 1)]
            return {0} if whole else {0, int(number.read(32))}
    except (OSError, ValueError):
        return {0}


def _steps(path: str) -> Iterator[str]:
    """The file and all folders above it, for each link on the way and for the end."""
    here, chain = path, [path]
    while os.path.islink(here) and len(chain) < _LINKS:
        here = os.path.join(os.path.dirname(here), os.readlink(here))
        chain.append(here)
    seen: set[str] = set()
    for step in [*chain, os.path.realpath(path)]:
        place = os.path.normpath(step)
        while place not in seen:
            seen.add(place)
            yield place
            place = os.path.dirname(place)


def loads_code(name: str) -> bool:
    """Whether a variable of that name could lead a child to other code, or to another machine."""
    return name.startswith(_LOADS_CODE) or name in _LOADS_CODE_EXACT


def scrubbed(environ: Mapping[str, str], folders: Sequence[str]) -> dict[str, str]:
    kept = {k: v for k, v in environ.items() if not loads_code(k)}
    return {**kept, "PATH": ":".join(folders), "LC_ALL": "C"}


def execute(
    argv: Sequence[str],
    program: str,
    environ: Mapping[str, str],
    deadline_s: float,
    limit: int,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    cwd: str = "/",
    before: Callable[[], None] | None = None,
    halt: Callable[[], bool] | None = None,
) -> Reading[Output]:
    """What the program printed, or why it did not come to that. Nothing that it started in its session is left.
    `stdin` is a file that it reads; `before` runs in the child first, to set limits there; once `halt` says so, it
    ends as at the deadline."""
    source = command_source(argv)
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            list(argv),
            executable=program,
            env=dict(environ),
            cwd=cwd,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=before,
        )
    except OSError as error:
        return Reading(state_of(error), source, None, errno_name(error))
    except (ValueError, subprocess.SubprocessError) as error:  # a NUL in an argument; `before` failed
        return Reading(State.FAILED, source, None, str(error)[:200])
    processes.announce(process.pid, True)
    ended, streams, cut = False, (b"", b""), False
    try:
        ended, streams, cut = _drain(process, began + deadline_s, limit, halt)
    finally:
        held = _end(process)
    if not ended:
        return Reading(State.TIMED_OUT, source, None, str(held) if held else f"no answer within {deadline_s:g} s")
    if held:
        return Reading(State.FAILED, source, None, str(held))
    stdout, stderr = (s.decode("utf-8", "replace") for s in streams)
    return Reading(
        State.VALUE, source, Output(process.returncode, stdout, stderr, round(time.monotonic() - began, 3), cut)
    )


def _drain(
    process: subprocess.Popen[bytes], ends: float, limit: int, halt: Callable[[], bool] | None
) -> tuple[bool, tuple[bytes, bytes], bool]:
    """(ended in time, both streams, something was dropped). Stops too when the program has gone and left its output
    open in a process of its own."""
    kept: tuple[bytearray, bytearray] = (bytearray(), bytearray())
    cut = False
    with selectors.DefaultSelector() as selector:
        for number, stream in enumerate(_streams(process)):
            selector.register(stream, selectors.EVENT_READ, number)
        while selector.get_map():
            left = ends - time.monotonic()
            if left <= 0 or (halt and halt()):
                return False, _frozen(kept), cut
            ready = selector.select(min(left, 0.05))
            if not ready and processes.has_exited(process.pid):
                break
            for item, _ in ready:
                part = os.read(item.fd, 1 << 16)
                if not part:
                    selector.unregister(item.fileobj)
                    continue
                room = limit - len(kept[item.data])
                kept[item.data].extend(part[:room])
                cut = cut or len(part) > room
    return processes.wait_for_exit(process.pid, ends - time.monotonic()), _frozen(kept), cut


def _frozen(kept: tuple[bytearray, bytearray]) -> tuple[bytes, bytes]:
    return bytes(kept[0]), bytes(kept[1])


def _streams(process: subprocess.Popen[bytes]) -> Iterator[IO[bytes]]:
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        yield stream


def _end(process: subprocess.Popen[bytes]) -> processes.Stuck | None:
    """Kills what is left of the session and reaps the program; the process that can't be reaped, if any."""
    processes.kill_with_descendants(process.pid)
    for stream in _streams(process):
        stream.close()
    if not processes.wait_for_exit(process.pid, processes.GRACE_S):
        process.returncode = -9  # so that Popen neither warns nor waits for it later
        return processes.stuck(process.pid)
    process.wait()
    processes.announce(process.pid, False)
    return None
