"""Runs one of our scripts under the user's Python: in its own session, bounded in time, silence and memory.

The script is a plain file that imports nothing of ours and sends JSON lines through a pipe of its own; what it and the
libraries print goes into a file of which the end is kept. Whatever it does (hangs, dies, takes all memory) ends in an
`Ended`, never in an exception. As root, nothing runs that others can write, and what would load code is not passed on.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from doctor.errors import InputError
from doctor.system import processes
from doctor.system.commands import distrust, loads_code
from doctor.system.files import errno_name

State = Literal["finished", "crashed", "hung", "out-of-memory", "out-of-time", "not-started", "stopped"]
"""`hung`: silent for longer than it may; `out-of-time`: at work, and its time as a whole is over."""
_LINE_LIMIT = 1 << 20
_LINES = 200_000
_POLL_S = 0.1
_TAIL = 16 << 10
_SEARCHED = ("LD_LIBRARY_PATH",)
"""Of what loads code, kept as root where root alone can write every folder: containers live by it."""


@dataclass(frozen=True)
class Bounds:
    """`silence_s`: the longest time without a line; `memory_bytes`: of the process and all that it starts."""

    total_s: float
    silence_s: float
    memory_bytes: int = 32 << 30


@dataclass(frozen=True)
class Ended:
    """How it ended. `detail` is one line; `printed` the end of what it and the libraries printed."""

    state: State
    detail: str | None
    seconds: float
    printed: str = ""


def trusted(python: str, *more: str) -> None:
    """Raises InputError where root would execute what others can write."""
    if os.geteuid() != 0:
        return
    for path in (python, *more):
        why = distrust(path)
        if why:
            raise InputError(f"{path} is not run as root: {why}; run the doctor as the user whose Python that is")


def environment(environ: Mapping[str, str], added: Mapping[str, str], dropped: Sequence[str] = ()) -> dict[str, str]:
    """The user's own environment, since its flags are what is looked at; less what `dropped` begins names with, and
    as root less what would load others' code."""
    kept = {k: v for k, v in environ.items() if k not in dropped}
    if os.geteuid() == 0:
        kept = {k: v for k, v in kept.items() if _harmless(k, v)}
    return {**kept, **added}


def tunable(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Names of TunableOp's variables, none of which a child of ours gets. With ENABLED=1 alone torch tunes each product
    that it meets, writes a file where it is, and its own switch is dead (ATen/cuda/tunable/Tunable.cpp)."""
    return tuple(name for name in environ if name.startswith("PYTORCH_TUNABLEOP_"))


def withheld(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the variables that a child of root does not get."""
    return tuple(sorted(k for k, v in environ.items() if not _harmless(k, v))) if os.geteuid() == 0 else ()


def _harmless(name: str, value: str) -> bool:
    if name in _SEARCHED:
        return all(folder.startswith("/") and distrust(folder) is None for folder in value.split(":") if folder)
    return not loads_code(name)


class Child:
    """One run of a script. Iterate `events()` to its end, then read `ended`."""

    def __init__(
        self, python: str, script: Path, request: Mapping[str, Any], environ: Mapping[str, str], bounds: Bounds
    ) -> None:
        self._argv = [python, *_flags(), "-X", "faulthandler", "-u", str(script), json.dumps(request)]
        self._environ, self._bounds = dict(environ), bounds
        self.ended = Ended("not-started", None, 0.0)
        self.silence_s = bounds.silence_s
        """May be changed between events: a case may say how long it will be silent."""
        self._stop: Callable[[], bool] = lambda: False

    def until(self, stop: Callable[[], bool]) -> None:
        """Ends the script too as soon as `stop` says so."""
        self._stop = stop

    def events(self) -> Iterator[dict[str, Any]]:
        """What the script sends, as it arrives. Closing the iterator ends the script."""
        began = time.monotonic()
        inner, outer = os.pipe()
        with tempfile.TemporaryFile() as printed:
            try:
                process = self._started(outer, printed.fileno())
            except (OSError, ValueError) as error:
                os.close(inner)
                reason = errno_name(error) if isinstance(error, OSError) else str(error)
                self.ended = Ended("not-started", f"{self._argv[0]}: {reason}"[:300], 0.0)
                return
            finally:
                os.close(outer)
            why: tuple[State, str] | None = None
            try:
                reader = _Lines(inner)
                why = yield from self._watched(process, reader, began)
            finally:
                os.close(inner)
                stuck = _kill(process)
                tail = _tail(printed.fileno())
                self.ended = _outcome(process, why, stuck, time.monotonic() - began, tail)

    def _started(self, outer: int, printed: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._argv, str(outer)],
            env=self._environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            pass_fds=(outer,),
            start_new_session=True,
        )

    def _watched(
        self, process: subprocess.Popen[bytes], reader: _Lines, began: float
    ) -> Generator[dict[str, Any], None, tuple[State, str] | None]:
        """Yields events; returns why it has to be ended, None where it ended by itself."""
        last_message = looked = time.monotonic()
        while True:
            event = reader.next(_POLL_S)
            now = time.monotonic()
            if event is not None:
                last_message = now
                yield event
                last_message = time.monotonic()  # what the caller did with it is no silence of the script
            elif reader.closed or processes.has_exited(process.pid):
                if not reader.closed and (late := reader.next(0)) is not None:
                    yield late
                    continue
                processes.wait_for_exit(process.pid, 5.0)
                return None
            if now - looked >= _POLL_S:
                looked = now
                held = processes.resident_bytes(process.pid)
                allowed = self._bounds.memory_bytes
                if held > allowed:
                    return "out-of-memory", f"held {held >> 20} MiB of memory; {allowed >> 20} is allowed"
            if self._stop():
                return "stopped", "another of its group ended"
            if now - last_message > self.silence_s:
                return "hung", f"nothing came for {self.silence_s:.3g} s"
            if now - began > self._bounds.total_s:
                return "out-of-time", f"did not end within {self._bounds.total_s:.3g} s"


class _Lines:
    """JSON objects, one a line, from a pipe. What is none is passed over; a line or a stream without end is cut."""

    def __init__(self, descriptor: int) -> None:
        self._held, self._descriptor, self._left = bytearray(), descriptor, _LINES
        self._ready: list[dict[str, Any]] = []
        self.closed = False
        os.set_blocking(descriptor, False)

    def next(self, seconds: float) -> dict[str, Any] | None:
        if not self._ready and not self.closed:
            self._read(seconds)
        return self._ready.pop(0) if self._ready else None

    def _read(self, seconds: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            if not selector.select(seconds):
                return
        part = os.read(self._descriptor, 1 << 16)
        self.closed = not part
        self._held += part
        *lines, rest = bytes(self._held).split(b"\n")
        self._held = bytearray(rest if len(rest) <= _LINE_LIMIT else b"")
        for line in lines[: max(self._left, 0)]:
            self._left -= 1
            with contextlib.suppress(ValueError, RecursionError):
                found = json.loads(line)
                if isinstance(found, dict):
                    self._ready.append(found)


def _flags() -> tuple[str, ...]:
    """As root the account's own packages and PYTHON* count for nothing. Our scripts drop their own folder."""
    return ("-I",) if os.geteuid() == 0 else ()


def _kill(process: subprocess.Popen[bytes]) -> processes.Stuck | None:
    processes.kill_with_descendants(process.pid)
    if not processes.wait_for_exit(process.pid, 5.0):
        process.returncode = -9  # so that Popen neither warns nor waits for it later
        return processes.stuck(process.pid)
    process.wait()
    return None


def _outcome(
    process: subprocess.Popen[bytes],
    why: tuple[State, str] | None,
    stuck: processes.Stuck | None,
    seconds: float,
    tail: str,
) -> Ended:
    if stuck:
        return Ended("hung", str(stuck), seconds, tail)
    if why:
        return Ended(why[0], why[1], seconds, tail)
    if process.returncode == 0:
        return Ended("finished", None, seconds, tail)
    if process.returncode < 0:
        number = -process.returncode
        named = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        reason = "killed (the kernel does that when memory runs out)" if named == "SIGKILL" else f"died of {named}"
        return Ended("crashed", reason, seconds, tail)
    last = next((line for line in reversed(tail.splitlines()) if line.strip()), "no output")
    return Ended("crashed", f"exited with {process.returncode}: {_plain(last)}", seconds, tail)


def _plain(line: str) -> str:
    return "".join(c for c in line[:400] if c.isprintable())[:200].strip()


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
