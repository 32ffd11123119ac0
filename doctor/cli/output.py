"""Where a command's result goes: stdout, or a file of mode 0600 that is there whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from doctor.errors import InputError


def deliver(text: str, path: Path | None) -> None:
    """Raises InputError when the file can't be written."""
    if path is None:
        sys.stdout.write(text)
        return
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
