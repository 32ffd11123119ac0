"""Text of a file -> its faults; which of the two kinds it is, its content says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from doctor.errors import InputError, ParserError
from doctor.flags.ignored import marked
from doctor.images.lint import compose_file, docker_file, lost_flags
from doctor.images.lint.model import Fault
from doctor.parsers.container import compose
from doctor.parsers.container import dockerfile_instructions as dockerfile


def _nothing(_: str) -> str | None:
    return None


def lint(text: str, name: str, opened: Callable[[str], str | None] = _nothing) -> list[Fault]:
    """In the order of the lines. `# doctor: ignore RULE reason` on a fault's line, or alone above it, marks it.
    `opened` gives the text of a file in the build context, None where there is none. Raises InputError where the text
    is neither."""
    marks, _ = marked(text.splitlines(), name)
    return [replace(f, ignored=f.rule in marks.get(f.line, ())) for f in _faults(text, name, opened)]


def _faults(text: str, name: str, opened: Callable[[str], str | None]) -> list[Fault]:
    try:
        if name.endswith((".yml", ".yaml")):
            return sorted(set(compose_file.faults(compose.read(text))))
        return sorted({*docker_file.faults(dockerfile.read(text), opened), *lost_flags.faults(name, text)})
    except ParserError as error:
        first = error
    try:
        return sorted(set(compose_file.faults(compose.read(text))))
    except ParserError:
        raise InputError(f"{name}: neither a Dockerfile nor a compose file: {first}") from first
