"""Every error that this package raises on purpose, and the exit codes of its commands.

DoctorError
├── InputError        what the user handed over is wrong or can't be read
├── DataFileError     a profile, allow-list or knowledge file is wrong; carries all faults of the file
├── ToolError         an outside program failed; carries argv, exit code and both streams
└── ParserError       a text is not in the format that its parser reads
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """What a command of ours returns to the shell. `docs/exit-codes.md` tells users the same."""

    OK = 0
    """Nothing at or above `--fail-on`."""
    FINDINGS = 1
    """A finding at or above `--fail-on`."""
    USAGE = 2
    """Wrong usage, or input that can't be read."""
    INTERNAL = 3
    """The doctor itself failed."""
    UNJUDGED = 4
    """With `--strict`: GPUs are expected, and driver, devices or torch could not be judged."""
    INTERRUPTED = 130
    """Ctrl-C."""


class DoctorError(Exception):
    """Base of all errors that a command prints as one line, without a traceback."""

    exit_code = ExitCode.INTERNAL


class InputError(DoctorError):
    """What the user handed over is wrong: says what, where, and what to do."""

    exit_code = ExitCode.USAGE


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A full disk and its like are an InputError that names where it was written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


class DataFileError(InputError):
    """A data file is wrong. `faults` lists every fault found, each with its key."""

    def __init__(self, path: str, faults: Sequence[str]) -> None:
        self.path = path
        self.faults = tuple(faults)
        super().__init__(f"{path}: {'; '.join(self.faults)}")


class ToolError(DoctorError):
    def __init__(self, argv: Sequence[str], code: int | None, stdout: str, stderr: str) -> None:
        self.argv, self.code, self.stdout, self.stderr = tuple(argv), code, stdout, stderr
        last = (stderr or stdout).strip().splitlines()[-1:] or ["no output"]
        super().__init__(f"{argv[0]} exited with {code}: {last[0][:200]}")


class ParserError(DoctorError):
    """A text is not in the format of its parser. Never means that the thing described is absent."""


def in_plain_words(message: str) -> str:
    """What pydantic says of a value, as a person would.

    >>> in_plain_words("Input should be a valid integer, unable to parse string as an integer")
    'expected a whole number'
    >>> in_plain_words("Input should be greater than or equal to 0"), in_plain_words("Field required")
    ('expected at least 0', 'is missing')
    """
    before, given, wanted = message.partition("Input should be ")
    if not given:
        return _SAID.get(message, message.removeprefix("Value error, "))
    for theirs, ours in _WORDS:
        wanted = wanted.replace(theirs, ours)
    return f"{before}expected {wanted.partition(', unable to parse')[0]}"


_SAID = {"Field required": "is missing", "Extra inputs are not permitted": "is not a key here"}
_WORDS = (
    ("a valid ", ""), ("tuple", "list"), ("dictionary", "table"), ("string", "text"), ("integer", "a whole number"),
    ("greater than or equal to", "at least"), ("less than or equal to", "at most"),
)  # fmt: skip
