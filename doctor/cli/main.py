"""The program `doctor`: finds its commands, runs one, and turns every ending into an exit code.

A command is a module of this package with `add(app)`, which registers a function with the typer app. It imports what it
needs inside that function, so that `doctor --help` stays quick.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from doctor.cli.help_texts import ABOUT, CommandsBySection, complete, width
from doctor.cli.plain_options import HELP_NAMES, convert_plainly
from doctor.errors import DoctorError, ExitCode, in_plain_words

_NOT_COMMANDS = (
    "help_texts",
    "main",
    "measured",
    "no_plugins",
    "output",
    "own_modules",
    "plain_options",
    "site_options",
    "tuning",
    "waiting",
)


def build(asked: str | None = None) -> typer.Typer:
    """The app with every command of this package; with the one that is asked for, where there is such a command."""
    app = typer.Typer(
        name="doctor",
        cls=CommandsBySection,
        help=ABOUT,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": list(HELP_NAMES), "terminal_width": width()},
    )
    app.callback(invoke_without_command=True)(_root)
    there = {m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)])} - set(_NOT_COMMANDS)
    for name in [asked] if asked in there else sorted(there):
        module = importlib.import_module(f"doctor.cli.{name}")
        if hasattr(module, "add"):
            module.add(app)
    return app


def _root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        from doctor.cli.version import version as print_version

        print_version()


def run(args: Sequence[str] | None = None) -> int:
    """The exit code. What goes wrong is one line on stderr."""
    try:
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        command = typer.main.get_group(build(words[0]))
        convert_plainly(command)
        complete(command)
        result = command(args=words, prog_name="doctor", standalone_mode=False)
        return _flushed() or int(result or 0)
    except DoctorError as error:
        return _say(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _broken_pipe()
    except typer.Exit as leaving:
        return int(leaving.exit_code)
    except SystemExit:  # click's way to say that the reader went away
        return _broken_pipe()
    except OSError as error:
        return _of_a_name(error)
    except Exception as error:  # noqa: BLE001 -- the last stop: a fault of ours is one line, its traceback on demand
        return _unexpected(error)


def _flushed() -> int:
    """2 where stdout takes nothing; where it was closed from the start, nothing is lost that was wanted."""
    from doctor.cli.output import finished

    try:
        finished()
    except BrokenPipeError:
        raise
    except OSError as error:
        return _say(f"stdout: {error.strerror or error}", ExitCode.USAGE)
    return ExitCode.OK


_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of nothing but writing; what we write to files names the file."""


def _stdout_is_writable() -> bool:
    """Not where it was opened for reading, or is a terminal that is gone."""
    try:
        os.write(1, b"")
    except OSError:
        return False
    return True


def _of_a_name(error: OSError) -> int:
    """A path that was given and may not be entered, is too long or goes in circles is input that can't be read."""
    if error.filename is None and error.errno == errno.ENOENT:  # os.getcwd()
        return _say("the working folder is not there any more; change to another", ExitCode.USAGE)
    if error.filename is None and (error.errno in _OF_WRITING or not _stdout_is_writable()):  # typer's own: a help text
        return _say(f"stdout: {error.strerror}", ExitCode.USAGE)
    if error.filename is None or error.errno not in (errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR):
        return _unexpected(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(error.filename)
    return _say(f"{name[:200]}: {error.strerror}", ExitCode.USAGE)


def _unexpected(error: Exception) -> int:
    """Wrong usage carries its own code; anything else is the doctor's fault."""
    if type(error).__name__ == "NoArgsIsHelpError":  # `doctor profiles` alone: its help is the message
        _tell(f"{error}\n")
        return ExitCode.USAGE
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        import difflib

        text, context = in_plain_words(error.format_message()), getattr(error, "ctx", None)
        text = text.partition(" (Possible options")[0]
        offered = [name.strip("-") for name in getattr(error, "possibilities", None) or ()]
        if near := difflib.get_close_matches(getattr(error, "option_name", "").strip("-"), offered, 1):
            text = f"{text}; did you mean --{near[0]}?"
        elif context is not None and "Did you mean" not in text:
            text = f"{text.rstrip('.')}; see `{context.command_path} --help`"
        return _say(text, ExitCode.USAGE)
    if os.environ.get("DOCTOR_DEBUG"):
        raise error
    text = f"internal error: {type(error).__name__}: {error}"
    return _say(f"{text} (set DOCTOR_DEBUG=1 for the traceback)", ExitCode.INTERNAL)


def _say(text: str, code: int) -> int:
    if text.strip():  # an empty usage message: help was printed instead
        line = "".join(c if c.isprintable() else " " for c in text)
        _tell(f"doctor: {line}\n")
    return int(code)


def _tell(text: str) -> None:
    from doctor.cli.output import tell

    tell(text)


def _broken_pipe() -> int:
    """The reader went away: nothing to say, and the interpreter must not complain when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK


def main() -> None:
    """Entry point of the console scripts. SIGTERM and a closed terminal end a check as Ctrl-C does, so that its
    children are killed; under nohup the terminal counts for nothing."""
    from doctor.cli.output import whole_stdout

    whole_stdout()
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, _interrupt)
    code = run()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # All is written and every child is gone: what the interpreter would still tidy up, the kernel does at once.
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed before we began
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
