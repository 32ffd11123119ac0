"""Short ways to write remedies, and those that many rules share."""

from __future__ import annotations

from typing import Any, Literal

from doctor.facts.snapshot import Snapshot
from doctor.findings import Expect, Remedy, Scope, Step
from doctor.redaction.lazy import Lazy

Where = Literal["host", "container", "environment"]
STOPS_CONTAINER = "recreates the container; data outside volumes is lost"


def sentence(text: str) -> str:
    """With a capital and a full stop; `hipBLASLt` and `libtorch_hip.so` keep their first letter.

    >>> sentence("stores are lost"), sentence("hipBLASLt is slower")
    ('Stores are lost.', 'hipBLASLt is slower.')
    """
    first = text.split(" ", 1)[0]
    return f"{text[:1].upper() if first.isalpha() and first.islower() else text[:1]}{text[1:]}."


def step(text: str, *argv: str, where: Where = "host") -> Step:
    """One step; without words of a command it is something to do by hand."""
    return Step(text=text, command=argv or None, where=where)


def writes(file: str, *lines: str) -> Step:
    """A step that makes a file of those lines."""
    quoted = " ".join(f'"{_SPECIAL.sub(_ESCAPE, line)}"' for line in lines)
    return step(f"Write {file}.", "sh", "-c", f'printf "%s\\n" {quoted} > {file}')


_SPECIAL, _ESCAPE = Lazy(r'[\\"$`]'), r"\\\g<0>"
"""What a shell reads between double quotes."""


def way(title: str, scope: Scope, *steps: Step, **more: Any) -> Remedy:
    """A remedy of those steps, in order; without any, its title says all of it."""
    return Remedy(title=title, scope=scope, steps=steps or (Step(text=title),), **more)


def command(title: str, scope: Scope, *argv: str, **more: Any) -> Remedy:
    where: Where = (
        "environment"
        if scope in (Scope.ENVIRONMENT, Scope.JOB)
        else "container"
        if scope is Scope.CONTAINER
        else "host"
    )
    return Remedy(title=title, scope=scope, steps=(Step(text=title, command=argv, where=where),), **more)


def unset(machine: Snapshot, *names: str, because: str = "") -> Remedy:
    """Start the program without those variables. A container keeps what it was started with, so it is recreated."""
    listed = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    it = "it" if len(names) == 1 else "them"
    undo = (step(f"Set {it} again.", where="environment"),)
    effect = tuple(Expect(fact=f"environment[{name}]", absent=True) for name in names)
    if machine.container.inside:
        title = f"Remove {listed} from the container's settings and recreate the container{because}."
        text = f"Remove {listed} from the `-e`, `--env-file`, compose or pod settings, then start a new container."
        return way(title, Scope.CONTAINER, step(text), risk=STOPS_CONTAINER, undo=undo, effect=effect)
    argv = ("env", *(word for name in names for word in ("-u", name)), "COMMAND")
    first = step(f"Try it: start the program (COMMAND) without {it}.", *argv, where="environment")
    keep = step(f"If it works, remove {it} from the shell profile, service unit or job script.", where="environment")
    return way(f"Unset {listed}{because}.", Scope.JOB, first, keep, undo=undo, effect=effect)


def set_to(machine: Snapshot, title: str, where: str = "", **values: str) -> Remedy:
    """Start the program with those variables, then keep them. `where`: what to set them in, in place of the usual."""
    words = [f"{name}={value}" for name, value in values.items()]
    names = " and ".join(values)
    undo = (step(f"Remove {names} again.", where="environment"),)
    effect = tuple(Expect(fact=f"environment[{name}]", equals=value) for name, value in values.items())
    if machine.container.inside:
        given = " ".join(f"-e {word}" for word in words)
        text = f"Add `{given}` to the container's settings, then start a new container."
        return way(title, Scope.CONTAINER, step(text), risk=STOPS_CONTAINER, undo=undo, effect=effect)
    first = step("Try it: start the program (COMMAND) this way.", "env", *words, "COMMAND", where="environment")
    place = where or "the shell profile, service unit or job script"
    keep = step(f"If it helps, set {' '.join(words)} in {place}.", where="environment")
    return way(title, Scope.JOB, first, keep, undo=undo, effect=effect)


def drain(title: str, *steps: Step, **more: Any) -> Remedy:
    """A remedy for the hardware itself."""
    return way(title, Scope.HARDWARE, *steps, root=True, **more)


def by_hand(title: str, scope: Scope, *texts: str, undo: str = "", **more: Any) -> Remedy:
    """Steps that no command does: settings of the firmware, a file to edit, a manifest. `undo` is one sentence."""
    where: Where = "environment" if scope in (Scope.ENVIRONMENT, Scope.JOB) else "host"
    steps = tuple(Step(text=text, where=where) for text in texts)
    back = (Step(text=undo, where=where),) if undo else ()
    return way(title, scope, *steps, undo=back, **more)


def looks(title: str, *argv: str, root: bool = False, where: Where = "host", **more: Any) -> Remedy:
    """A command that shows more and changes nothing."""
    scope = Scope.HOST if where == "host" else Scope.JOB
    return Remedy(title=title, scope=scope, steps=(Step(text=title, command=argv, where=where),), root=root, **more)


def kernel_log(title: str, word: str, vendor: str) -> Remedy:
    """The kernel log's lines of this boot with that word; all in small letters, it finds capitals too."""
    return looks(title, *("journalctl", "-k", "-b", "--grep", word), root=True, vendor=vendor)


def firmware(title: str, *texts: str, undo: str = "Set the old value again.", **more: Any) -> Remedy:
    """A setting of the board, which a reboot reaches."""
    enter = "Reboot into the firmware settings (or use the BMC)."
    return by_hand(title, Scope.FIRMWARE, enter, *texts, undo=undo, reboot=True, root=True, risk=STOPS_NODE, **more)


STOPS_NODE = "stops every job on the node"
