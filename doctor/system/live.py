"""The machine that the doctor runs on."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from doctor.facts.origin import State
from doctor.system import asked, commands, files
from doctor.system.base import READ_DEADLINE_S, READ_LIMIT, RUN_DEADLINE_S, RUN_LIMIT, Output, Ranges, Reading, Stat

T = TypeVar("T")

NVML_LIBRARY = "libnvidia-ml.so.1"
LIMITS = {name: getattr(resource, f"RLIMIT_{name.upper()}") for name in ("memlock", "as", "nofile", "nproc", "stack")}
"""Soft limits that are read of each process, and their numbers."""
LOADER_CACHE = "/etc/ld.so.cache"
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
)
"""Where drivers, container toolkits, WSL, Jetson and NixOS put NVML's library."""
_NVML_BOOT = (
    "import sys; sys.path[1:1] = sys.argv[1].split(':'); from doctor.system.nvml_child import main; main(sys.argv[2])"
)


class LiveSystem:
    """This machine. Deadlines are seconds for one read and one command."""

    kind = "live"

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        read_deadline_s: float = READ_DEADLINE_S,
        run_deadline_s: float = RUN_DEADLINE_S,
        trusted_path: Sequence[str] = commands.TRUSTED_PATH,
        library_folders: Sequence[str] = LIBRARY_FOLDERS,
        loader_cache: str = LOADER_CACHE,
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._read_s, self._run_s = read_deadline_s, run_deadline_s
        self._folders = commands.trusted_folders(trusted_path)
        self._library_folders, self._loader_cache = library_folders, loader_cache
        self._root = os.geteuid() == 0

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        def work() -> str:
            with _opened(path) as descriptor:
                return files.text_of(descriptor, limit)

        return self._attempt(path, work, deadline_s)

    def read_bytes(
        self, path: str, *, offset: int = 0, length: int = READ_LIMIT, deadline_s: float | None = None
    ) -> Reading[bytes]:
        def work() -> bytes:
            with _opened(path) as descriptor:
                return files.bytes_of(descriptor, offset, length)

        return self._attempt(path, work, deadline_s)

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]:
        def work() -> tuple[str, ...]:
            try:
                return tuple(sorted(os.listdir(_rooted(path))))
            except NotADirectoryError:
                os.stat(_rooted(path))  # raises where it is a folder above that is none
                raise files.Refused(State.UNREADABLE, "not a folder") from None

        return self._attempt(path, work, deadline_s)

    def stat(self, path: str) -> Reading[Stat]:
        def work() -> Stat:
            try:
                return files.stat_of(os.stat(_rooted(path)))
            except FileNotFoundError:
                return files.stat_of(os.lstat(_rooted(path)))  # a link that leads nowhere

        return self._attempt(path, work)

    def sizes(self, paths: Sequence[str], *, deadline_s: float) -> Reading[tuple[int, ...]]:
        found = files.sizes_of(paths, lambda path: os.stat(_rooted(path)), deadline_s)
        return Reading(State.VALUE, asked.file_source(paths[0] if paths else ""), found)

    def link(self, path: str) -> Reading[str]:
        return self._attempt(path, lambda: os.readlink(_rooted(path)))

    def real(self, path: str) -> Reading[str]:
        return self._attempt(path, lambda: asked.relative(os.path.realpath(_rooted(path), strict=True)))

    def try_open(self, path: str) -> Reading[str]:
        """See base.System. Whether a GPU sleeps, and opening would wake it, is for the probe to know."""

        def work() -> str:
            if not stat.S_ISCHR(os.stat(_rooted(path)).st_mode):
                raise files.Refused(State.UNREADABLE, "not a character device")
            try:
                descriptor = os.open(_rooted(path), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            except OSError as error:
                return files.errno_name(error)
            os.close(descriptor)
            return "ok"

        return self._attempt(path, work)

    def _attempt(self, path: str, work: Callable[[], T], deadline_s: float | None = None) -> Reading[T]:
        return files.attempt(asked.file_source(path), self._read_s if deadline_s is None else deadline_s, work)

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:
        program = self._program(argv[0]).named(asked.command_source(argv))
        if program.value is None:
            return Reading(program.state, program.source, None, program.detail)
        return self._execute(argv, program.value, deadline_s, limit)

    def run_fed(self, argv: Sequence[str], data: bytes, *, deadline_s: float) -> Reading[Output]:
        """The same with `data` on its standard input. Of this machine only: no recording holds what was fed."""
        program = self._program(argv[0]).named(asked.command_source(argv))
        if program.value is None:
            return Reading(program.state, program.source, None, program.detail)
        environ = commands.scrubbed(self._environ, self._folders)
        with tempfile.TemporaryFile() as held:
            held.write(data)
            held.seek(0)
            return commands.execute(argv, program.value, environ, deadline_s, RUN_LIMIT, held)

    def which(self, name: str) -> Reading[str]:
        return self._program(name)

    def _program(self, name: str) -> Reading[str]:
        source = asked.command_source([name])
        path = commands.find(name, self._folders)
        if path is None:
            return Reading(State.ABSENT, source, None, "no such program on the trusted PATH")
        reason = commands.distrust(path) if self._root else None
        if reason:
            return Reading(State.DENIED, source, None, f"not executed as root: {reason}")
        return Reading(State.VALUE, source, path)

    def _execute(self, argv: Sequence[str], program: str, deadline_s: float | None, limit: int) -> Reading[Output]:
        environ = commands.scrubbed(self._environ, self._folders)
        return commands.execute(argv, program, environ, self._run_s if deadline_s is None else deadline_s, limit)

    def environ(self) -> Reading[Mapping[str, str]]:
        plain = {k: v.encode("utf-8", "replace").decode() for k, v in self._environ.items()}
        return Reading(State.VALUE, "environment", plain)

    def account(self) -> Reading[Mapping[str, Any]]:
        gids = sorted({os.getegid(), *os.getgroups()})
        return Reading(State.VALUE, "account", {"uid": os.geteuid(), "gid": os.getegid(), "gids": gids})

    def limits(self) -> Reading[Mapping[str, int]]:
        return Reading(State.VALUE, "limits", {name: resource.getrlimit(kind)[0] for name, kind in LIMITS.items()})

    def nvml(self, *, deadline_s: float | None = None) -> Reading[Mapping[str, Any]]:
        library = self._nvml_library()
        if library.value is None:
            return Reading(library.state, "nvml", None, library.detail)
        argv = [sys.executable, "-I", "-c", _NVML_BOOT, ":".join(_import_paths()), library.value]
        # this interpreter already runs with our rights, so it isn't judged again
        ran = self._execute(argv, sys.executable, deadline_s, RUN_LIMIT).named("nvml")
        if ran.value is None:
            return Reading(ran.state, "nvml", None, ran.detail)
        return _inventory(ran.value)

    def _nvml_library(self) -> Reading[str]:
        """The library's path, or its bare name where the loader's cache knows it."""
        for folder in self._library_folders:
            path = f"{folder}/{NVML_LIBRARY}"
            if os.path.exists(path):
                reason = commands.distrust(path) if self._root else None
                state = State.DENIED if reason else State.VALUE
                return Reading(state, "nvml", None if reason else path, f"not loaded as root: {reason}")
        cache = self.read_bytes(self._loader_cache, length=16 << 20)
        if cache.value and NVML_LIBRARY.encode() + b"\0" in cache.value:
            return Reading(State.VALUE, "nvml", NVML_LIBRARY)
        return Reading(State.ABSENT, "nvml", None, f"no {NVML_LIBRARY}")

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:  # noqa: ARG002  name is a recorder's key
        return files.derive(asked.file_source(path), work)

    def derived_from(
        self,
        name: str,  # noqa: ARG002  name is a recorder's key
        path: str,
        work: Callable[[Ranges], T],
        *,
        deadline_s: float | None = None,
    ) -> Reading[T]:
        def on_open_file() -> T:
            with _opened(path) as descriptor:
                return work(files.OpenFile(descriptor))

        return self._attempt(path, on_open_file, deadline_s)


def _rooted(path: str) -> str:
    return "/" + path.lstrip("/")


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(_rooted(path), files.OPEN_FLAGS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _import_paths() -> list[str]:
    """Folders that hold this package and pynvml: an isolated interpreter (-I) ignores PYTHONPATH."""
    found = [str(Path(__file__).resolve().parents[2])]
    pynvml = importlib.util.find_spec("pynvml")
    if pynvml and pynvml.origin:
        found.append(str(Path(pynvml.origin).parent))
    return found


def _inventory(output: Output) -> Reading[Mapping[str, Any]]:
    """What the NVML child printed. A library that can't be loaded counts as absent."""
    try:
        data = json.loads(output.stdout)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        last = output.stderr.strip().splitlines()[-1:] or [f"exit code {output.code}"]
        return Reading(State.FAILED, "nvml", None, f"the NVML child gave no answer: {last[0][:150]}")
    if (data.get("error") or {}).get("name") == "NVML_ERROR_LIBRARY_NOT_FOUND":
        return Reading(State.ABSENT, "nvml", None, f"{NVML_LIBRARY} can't be loaded")
    return Reading(State.VALUE, "nvml", data)
