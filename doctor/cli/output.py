"""Where a command's result goes: stdout, or a file of mode 0600 that is there whole or not at all.

Whoever gets half of a report must learn of it: what is written is written to its end, flushed and closed, and an error
of any of these is one line and exit code 2. A reader that went away (`| head`) loses nothing that it wanted.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TextIO

from doctor.errors import InputError


def whole_stdout() -> None:
    """Puts a buffer in front of a stdout without one (`python -u`): to write to such a one is to write as much as fits,
    and to lose the rest without a word. A line is written at once, as `-u` wants."""
    stream = sys.stdout
    raw = getattr(stream, "buffer", None)
    if isinstance(raw, io.RawIOBase) and isinstance(stream, io.TextIOWrapper):
        encoding, errors = stream.encoding, stream.errors
        stream.flush()
        raw = io.BufferedWriter(stream.detach())
        sys.stdout = io.TextIOWrapper(raw, encoding=encoding, errors=errors, line_buffering=True)
        sys.__stdout__ = sys.stdout  # type: ignore[misc]  # whose width is asked for


def finished() -> None:
    """Writes what is still held back. Raises OSError where that, or closing the file behind stdout, fails: a network
    file system tells of a full disk no sooner."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    try:
        copy = os.dup(sys.stdout.fileno())
    except (OSError, ValueError):  # a stream of a test's, or closed since
        return
    os.close(copy)


def deliver(text: str, path: Path | None, *, prose: bool = False) -> None:
    """Raises InputError when the file or stdout can't be written; BrokenPipeError when its reader went away.

    Prose is fitted to a terminal; what a program or a shell reads stays as it is."""
    if path is None:
        _print(_fitted(text) if prose and sys.stdout is not None and sys.stdout.isatty() else text)
        return
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        # Renaming over it would replace a device node or a link such as /dev/stdout for everybody.
        raise InputError(f"-o {path}: is not a regular file; without -o the report goes to stdout")
    try:
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as held:
            held.write(text)
        Path(beside).replace(path)
    except OSError as error:
        Path(beside).unlink(missing_ok=True)
        raise InputError(f"{path}: {error.strerror or error}") from error


def print_prose(text: str) -> None:
    """Prose, to stdout."""
    deliver(text, None, prose=True)


def _fitted(text: str) -> str:
    """Lines that are wider than the terminal go on below, indented; a command (`$ …`) stays whole, to be copied."""
    columns = shutil.get_terminal_size().columns
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        whole = len(line) <= columns or line.startswith("$ ", len(indent))
        lines += [line] if whole else textwrap.wrap(
            line, columns, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False
        )  # fmt: skip
    return "\n".join(lines)


def tell(text: str) -> None:
    """To stderr; where it is closed or full, the exit code must do."""
    _to(sys.stderr, _fitted(text) if sys.stderr is not None and sys.stderr.isatty() else text)


def notice(text: str) -> None:
    """To stdout, where the exit code is the answer and the line its reason: a full stdout changes no answer."""
    if not _to(sys.stdout, text) and sys.stdout is not None:
        _forget(sys.stdout)


def _to(stream: TextIO | None, text: str) -> bool:
    """Whether it was taken. None is a stream that was closed from the start."""
    if stream is None:
        return False
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):  # ValueError: closed since
        return False
    return True


def stdin() -> TextIO:
    """Raises InputError where it was closed from the start (`<&-`)."""
    if sys.stdin is None:
        raise InputError("stdin is closed; name a file")
    return sys.stdin


def _print(text: str) -> None:
    if sys.stdout is None:
        raise InputError("stdout is closed")
    try:
        sys.stdout.write(_encodable(text))
        finished()
    except BrokenPipeError:
        raise
    except OSError as error:
        _forget(sys.stdout)
        raise InputError(f"stdout: {error.strerror or error}") from error


def _encodable(text: str) -> str:
    """What this stdout's encoding lacks, as a page's character references or escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        way = "xmlcharrefreplace" if text.startswith(("<!doctype html", "<?xml")) else "backslashreplace"
        return text.encode(encoding, way).decode(encoding)
    return text


def _forget(stream: TextIO) -> None:
    """What can't be written is not tried again when the interpreter ends."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, stream.fileno())
    os.close(descriptor)
