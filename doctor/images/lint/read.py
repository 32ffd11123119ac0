"""Text of a file -> its faults; which of the two kinds it is, its content says."""

from __future__ import annotations

from doctor.errors import InputError, ReaderError
from doctor.images.lint import compose_file, docker_file
from doctor.images.lint.model import Fault
from doctor.readers import compose
from doctor.readers import dockerfile_instructions as dockerfile


def lint(text: str, name: str) -> list[Fault]:
    """In the order of the lines. Raises InputError where it is neither."""
    try:
        if name.endswith((".yml", ".yaml")):
            return sorted(set(compose_file.faults(compose.read(text))))
        return sorted(set(docker_file.faults(dockerfile.read(text))))
    except ReaderError as error:
        first = error
    try:
        return sorted(set(compose_file.faults(compose.read(text))))
    except ReaderError:
        raise InputError(f"{name}: neither a Dockerfile nor a compose file: {first}") from first
