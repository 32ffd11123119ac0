"""The program as a process of its own, without the half second that its start takes: a child of this process that runs
the entry point of the console scripts, with the streams that a shell would give it. What the interpreter does before
the first line of ours is not in it; tests of that start one.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Mapping
from typing import TextIO

_REDIRECT = re.compile(r"(?P<number>\d?)(?P<way>[<>])(?P<place>&-|\S+)")
_TIMEOUT_S = 60


def started(
    words: str, redirect: str = "", *, stdin: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """`doctor WORDS REDIRECT` of a shell; PYTHONIOENCODING is heeded.

    >>> started("version", ">&-").returncode
    2
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: pytest-xdist's own, which holds no lock
            pid = os.fork()
        if not pid:
            _child(words, redirect, (given.fileno(), out.fileno(), err.fileno()), environ)
        code = _ended(pid)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def _ended(pid: int) -> int:
    until = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise TimeoutError(f"not done within {_TIMEOUT_S} s")


def _child(words: str, redirect: str, streams: tuple[int, int, int], environ: Mapping[str, str]) -> None:
    """Does not return."""
    try:
        os.environ.update(environ)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for one in _REDIRECT.finditer(redirect):
            _redirect(int(one["number"] or one["way"] == ">"), one["way"], one["place"])
        encoding = environ.get("PYTHONIOENCODING", "utf-8")
        sys.stdin, sys.stdout, sys.stderr = (_stream(number, encoding) for number in range(3))
        sys.argv = ["doctor", *shlex.split(words)]
        from doctor.cli.main import main

        main()
    except BaseException:  # noqa: BLE001 -- a child never returns into the tests
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(70)


def _redirect(number: int, way: str, place: str) -> None:
    if place == "&-":
        os.close(number)
        return
    opened = os.open(place, os.O_RDONLY if way == "<" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def _stream(number: int, encoding: str) -> TextIO | None:
    """As the interpreter makes it: none where the descriptor was closed."""
    try:
        os.fstat(number)
    except OSError:
        return None
    if number == 0:
        return open(number, encoding=encoding, closefd=False)
    buffering, errors = (1, "backslashreplace") if number == 2 else (-1, "strict")
    return open(number, "w", buffering, encoding, errors, closefd=False)
