"""`docker run`: one shell line, or the argv that `doctor run` executes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.launch.spec import Emitted, Line, Part, Spec

LOCAL = True
SHELL = True

GIB, MIB = 1 << 30, 1 << 20
_FLAGS = {
    "cdi": "--device",
    "group": "--group-add",
    "cap": "--cap-add",
    "pass_env": "--env",
    "env_file": "--env-file",
    "mount": "--volume",
    "security": "--security-opt",
}
"""Of kinds that docker calls by another name."""
TIDY = "the stopped container is removed"
_STDIN = ("--interactive", "what is typed or piped reaches the command")
_TERMINAL = ("--tty", "the command sees this terminal")


class Flag(NamedTuple):
    """One option with its value, as argv, and why it is there."""

    words: tuple[str, ...]
    reason: str


def emit(spec: Spec) -> Emitted:
    return as_line(["docker", "run"], [*tidy(spec), *flags(spec)], spec)


def tidy(spec: Spec) -> list[Flag]:
    """Not in the background, where the log of a stopped container is all that tells why, nor beside `--restart`."""
    kept = any(part.value.startswith("--restart") for part in spec.of("engine_arg"))
    return [] if kept or spec.one("detach") else [Flag(("--rm",), TIDY)]


def as_line(start: Sequence[str], options: Sequence[Flag], spec: Spec) -> Emitted:
    """The command of several lines that a shell reads as one."""
    rows = [shlex.join(start), *(shlex.join(option.words) for option in options), shlex.join([spec.image])]
    if spec.command:
        rows.append(shlex.join(spec.command))
    lines = tuple(Line(shlex.join(option.words), option.reason) for option in options)
    return Emitted(" \\\n  ".join(rows) + "\n", lines)


def as_run(spec: Spec, *, terminal: bool, podman: bool) -> list[Flag]:
    """What `doctor run` itself adds to the flags of the spec. `terminal`: the caller's is passed through."""
    live = [] if spec.one("detach") else [_STDIN, _TERMINAL] if terminal else [_STDIN]
    return [*tidy(spec), *(Flag((word,), why) for word, why in live), *flags(spec, podman=podman)]


def argv(base: Sequence[str], spec: Spec, *, terminal: bool, podman: bool = False) -> list[str]:
    options = as_run(spec, terminal=terminal, podman=podman)
    return [*base, "run", *(word for flag in options for word in flag.words), spec.image, *spec.command]


def flags(spec: Spec, *, podman: bool = False) -> Iterator[Flag]:
    for part in spec.parts:
        yield from (Flag(words, part.reason) for words in _words(part, podman))


def _words(part: Part, podman: bool) -> Iterator[tuple[str, ...]]:
    if part.kind == "gpus" and podman:  # podman before 6.0 has no --gpus
        yield from (("--device", f"nvidia.com/gpu={name}") for name in part.value.split(","))
    elif part.kind == "gpus":
        # A value with commas is CSV to docker's parser: the quotes are part of it.
        yield ("--gpus", "all" if part.value == "all" else f'"device={part.value}"')
    elif part.kind == "shm":
        yield ("--shm-size", size(int(part.value)))
    elif part.kind in ("privileged", "detach"):
        yield (f"--{part.kind}",)
    elif part.kind == "engine_arg":
        yield (part.value,)
    else:
        yield (_FLAGS.get(part.kind, f"--{part.kind}"), part.value)


def size(number: int) -> str:
    """Bytes as docker, podman and compose read them.

    >>> size(8 << 30), size(512 << 20), size(1000)
    ('8g', '512m', '1000b')
    """
    if number % GIB == 0:
        return f"{number // GIB}g"
    return f"{number // MIB}m" if number % MIB == 0 else f"{number}b"
