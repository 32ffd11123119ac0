"""A chosen stack -> what uv's resolver says of it: that is what "runs" rests on. Nothing is installed.

uv resolves for the described machine (its Python, glibc and processor), not for this one, and asks the indexes that the
commands name. What is compiled on the machine (flash-attn …) has no wheel that a resolver could look at.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from doctor.errors import ToolError
from doctor.resolve.command import INDEX, family
from doctor.resolve.model import Resolution, Solution
from doctor.system.base import Output, Reading
from doctor.versions import Dotted

DEADLINE_S = 90.0
DEFAULT_PYTHON = "3.12"
"""What is resolved for where no Python is named: the one that most wheels of the catalogue exist for (2026-11)."""
MUSL = "musl"
_DEFAULT_GLIBC = "2.28"
"""Of the oldest manylinux tag that current wheels of torch carry."""
_UV_GLIBC = (17, 28, *range(31, 41))
"""The manylinux platforms that uv knows by name (uv pip compile --help, 0.13)."""
_UNREACHABLE = re.compile(
    r"(?i)(failed to fetch|error sending request|dns error|connection (?:refused|reset)|could not connect|timed out|"
    r"request failed after|http status (?:client|server) error|certificate)"
)
_NO_WHEEL = re.compile(r"([\w.-]+(?:\[[\w,-]*\])?)(?:\{[^}]*\})?([=<>!~][^\s;]*)? has no usable wheels")
"""A requirement as uv prints it: `xgrammar{platform_machine == 'x86_64'}>=1.7.0,<=1.7.6`."""


@dataclass(frozen=True)
class Question:
    """What a resolver is asked. Two stacks with one question have one answer."""

    requirements: tuple[str, ...]
    indexes: tuple[str, ...]
    """Beside the Python package index."""
    python: str
    machine: str
    glibc: str
    """Or `musl`."""
    left_out: tuple[str, ...] = ()
    """Packages that are compiled on the machine."""

    @property
    def key(self) -> str:
        """What a recorded answer is found by; the glibc is compared apart."""
        return " ".join([*self.requirements, *self.indexes, f"python={self.python}", self.machine])

    @property
    def is_exact(self) -> bool:
        """Whether uv resolves for this very glibc, and not for the next older one that it has a name for."""
        return self.glibc == MUSL or Dotted(self.glibc).numbers[1] in _UV_GLIBC

    @property
    def words(self) -> str:
        libc = self.glibc if self.glibc == MUSL else f"glibc {self.glibc}"
        return f"Python {self.python}, {libc}, {self.machine}"

    @property
    def platform(self) -> str:
        if self.glibc == MUSL:
            return f"{self.machine}-unknown-linux-musl"
        minor = Dotted(self.glibc).numbers[1]
        return f"{self.machine}-manylinux_2_{max(n for n in _UV_GLIBC if n <= max(minor, _UV_GLIBC[0]))}"


Asked = Callable[[Question], Resolution]
"""Answers a question: uv, a record, or a test."""


def torch_index(solution: Solution) -> str | None:
    """The index of torch's build, and of the packages that differ by build; None where plain pip has what is wanted."""
    build = solution.build
    if not build or build.bundled_by or (build.plain and not any(pick.from_torch for pick in solution.picks)):
        return None
    return f"{INDEX}/{build.tag}"


def question(solution: Solution) -> Question | None:
    """None where nothing of the stack lies on an index: a container image, or only what is compiled."""
    build, target = solution.build, solution.target
    wanted, indexes, left_out = [], [], []
    if build and not build.bundled_by:
        own_index = torch_index(solution)
        wanted.append(f"torch=={build.version}" + (f"+{build.tag}" if own_index else ""))
        if own_index:
            wanted += family(solution.picks)
            indexes.append(own_index)
    for pick in solution.picks:
        if pick.image:
            continue
        if pick.compiled:
            left_out.append(pick.package)
            continue
        wanted += pick.requirement.split()
        indexes += pick.index
    if not wanted:
        return None
    return Question(
        requirements=tuple(sorted(set(wanted))),
        indexes=tuple(dict.fromkeys(indexes)),
        python=target.python or DEFAULT_PYTHON,
        machine=target.machine,
        glibc=MUSL if target.libc == MUSL else target.glibc or _DEFAULT_GLIBC,
        left_out=tuple(left_out),
    )


def find_uv() -> str | None:
    """Path of uv: beside this Python, else on PATH."""
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.is_file() else shutil.which("uv")


def argv(uv: str, asked: Question, *options: str) -> tuple[str, ...]:
    """uv's command; the requirements come on its standard input."""
    indexes = [word for url in asked.indexes for word in ("--extra-index-url", url)]
    words = ["pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--no-progress", "--no-python-downloads"]
    words += ["--python", sys.executable, "--python-version", asked.python.rstrip("t")]
    words += ["--python-platform", asked.platform, "--only-binary", ":all:"]
    words += ["--index-strategy", "unsafe-best-match", *indexes, *options]
    return (uv, *words)


class Uv:
    """Asks uv now. Opens connections to the indexes."""

    def __init__(self, path: str, environ: Mapping[str, str] | None = None) -> None:
        from doctor.system.live import LiveSystem

        # One further try: an index that can't be reached is an answer, and not worth a minute of waiting.
        self._system = LiveSystem({**(os.environ if environ is None else environ), "UV_HTTP_RETRIES": "1"})
        self._path = path
        self._version: str | None = None

    def __call__(self, question: Question) -> Resolution:
        if question.python.endswith("t"):
            return Resolution("not-tried", detail="uv resolves for no free-threaded Python")
        ran = self.run(question)
        return verdict(question, ran, self.version(), datetime.datetime.now(datetime.timezone.utc).date().isoformat())

    def run(self, question: Question, *options: str) -> Reading[Output]:
        fed = "\n".join(question.requirements).encode()
        return self._system.run_fed(argv(self._path, question, *options), fed, deadline_s=DEADLINE_S)

    def version(self) -> str:
        """`uv 0.13.9`"""
        if self._version is None:
            answer = self._system.run((self._path, "--version"))
            self._version = " ".join(answer.value.stdout.split()[:2]) if answer.value else "uv"
        return self._version


def verdict(question: Question, ran: Reading[Output], by: str, day: str) -> Resolution:
    """What uv's output means."""
    where = ", ".join(["the Python package index", *question.indexes])
    if ran.value is None:
        return Resolution("not-tried", "", where, day, f"uv did not answer: {ran.detail or ran.state.value}")
    stderr_text = " ".join(line.strip() for line in ran.value.stderr.splitlines() if line.strip())
    if ran.value.code == 0:
        count = sum("==" in line for line in ran.value.stdout.splitlines())
        if not question.left_out:
            return Resolution("resolved", by, where, day, f"{count} packages, {question.words}")
        text = f"{', '.join(question.left_out)}: compiled on the machine, which no resolver checks; the rest resolves"
        return Resolution("not-tried", by, where, day, text)
    if _UNREACHABLE.search(stderr_text):
        named = [url for url in question.indexes if url.split("/")[2] in stderr_text]
        return Resolution("not-tried", "", where, day, f"{named[0] if named else 'the index'} can't be reached")
    if "No solution found" in stderr_text and (source := _NO_WHEEL.search(stderr_text)):
        name = f"{source[1]}{source[2] or ''}"
        text = f"{name} has no wheel for {question.words}: it is built from source, which no resolver checks"
        return Resolution("not-tried", by, where, day, text)
    if "No solution found" in stderr_text and not question.is_exact:
        text = f"uv refuses it for {question.platform}, and resolves for no glibc {question.glibc}"
        return Resolution("not-tried", by, where, day, text)
    if "No solution found" in stderr_text:
        because = (stderr_text.partition("cause: ")[2] or stderr_text).partition(" hint:")[0]
        first = because.partition(" And because you require ")[0]  # what follows says what was asked
        return Resolution("refused", by, where, day, first.replace("we can conclude that ", "")[:300])
    return Resolution("not-tried", "", where, day, f"uv failed: {stderr_text[:200] or 'no output'}")


def absent(reason: str) -> Asked:
    """A resolver that is not asked, with the reason."""
    return lambda _: Resolution("not-tried", detail=reason)


def locked(uv: Uv, found: Solution, *, pylock: bool) -> str:
    """Text of the file. Raises ToolError with uv's words. What is compiled on the machine is not in it."""
    about = question(found)
    if about is None:
        raise ToolError(("uv", "pip", "compile"), None, "", "nothing of the stack lies on an index as a wheel")
    options = ("--format", "pylock.toml") if pylock else ("--generate-hashes",)
    ran = uv.run(about, *options)
    if ran.value is None:
        raise ToolError(argv("uv", about, *options), None, "", ran.detail or ran.state.value)
    if ran.value.code or ran.value.cut:
        raise ToolError(argv("uv", about, *options), ran.value.code, "", " ".join(ran.value.stderr.split()))
    if pylock:
        return ran.value.stdout
    indexes = "".join(f"--extra-index-url {url}\n" for url in about.indexes)
    return f"# {found.stack} for {about.words}\n{indexes}{ran.value.stdout}"
