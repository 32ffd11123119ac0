"""What the parts of the walk share: where it is, what it has found, and what each part may ask of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from doctor.flags.way.model import Alt, Env, Held, Process, Sees, Step
from doctor.parsers.text.shell_nodes import Assignment, Function, Simple

LOCAL = ("localhost", "127.0.0.1", "::1")
Beside = Callable[[str], "tuple[str, str] | None"]
"""Path as a file writes it -> (path, text) of the file that lies there; None where that can't be read. The text of a
folder, whose path ends in `/`, is the names of its files, one a line."""


@dataclass
class Frame:
    """One script or function that is being walked."""

    file: str
    args: Sequence[str] | None = None
    """What a script is started with; None where that is not known."""
    where: str = ""
    """Where its programs run: "" here."""
    functions: dict[str, Function] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    locals: set[str] | None = None
    outside: bool = False
    """It runs where the files that lie beside do not."""
    nodes: int = 1
    """Machines that its programs are started on, as far as the file says."""
    base: Env | None = None
    """What a function, or a sourced file, was entered with."""
    returned: list[Env] = field(default_factory=list)
    """What each `return` leaves."""


@dataclass
class Leaving:
    """A loop that is walked, and what `break` and `continue` leave of a turn."""

    base: Env
    start: Env
    broke: list[Env] = field(default_factory=list)
    went_on: list[Env] = field(default_factory=list)


@dataclass(frozen=True)
class Remark:
    """A fault of the way itself, not of one variable at one process."""

    id: str
    name: str
    file: str
    line: int
    said: str
    cure: str
    severity: str = "warning"


@dataclass
class Followed:
    processes: list[Process] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    left: Env | None = None
    """What a script has at its end."""


class Runs(Protocol):
    """Starts programs, and keeps what is found."""

    nodes: int
    scheduled: bool
    cluster: Sees | None
    containers: dict[str, Sees]
    look: Beside

    def note(self, text: str) -> None: ...
    def remark(self, remark: Remark) -> None: ...
    def file(self, named: str, frame: Frame, of: Callable[[str], Held]) -> tuple[str, str] | None: ...
    def is_helper(self, argv: list[str]) -> bool: ...
    def start(self, argv: list[str], sees: Sees, frame: Frame, line: int, body: str | None = None) -> None: ...
    def text(self, text: str, sees: Sees, frame: Frame, line: int) -> Env | None: ...
    def script(self, found: tuple[str, str], args: list[str], sees: Sees, frame: Frame) -> None: ...
    def record(self, argv: list[str], sees: Sees, frame: Frame, line: int, where: str | None = None) -> None: ...


class Walks(Protocol):
    """Walks the commands of a shell."""

    run: Runs
    leaving: list[Leaving]

    def script(self, text: str, env: Env, frame: Frame, line: int = 1) -> None: ...
    def assign(self, assign: Assignment, env: Env, frame: Frame) -> None: ...
    def assigned(self, env: Env, name: str, held: Sequence[Alt], step: Step) -> Held: ...
    def start(self, argv: list[str], command: Simple, env: Env, frame: Frame, given: dict[str, Held]) -> None: ...
    def input(self, command: Simple, env: Env) -> str | None: ...
