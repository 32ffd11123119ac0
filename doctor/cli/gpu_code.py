"""`doctor gpu-code FILE…`: the GPU code in libraries, programs, object files and static libraries, object by object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from doctor.parsers.elf.gpu_code import GpuCode


def add(app: typer.Typer) -> None:
    app.command("gpu-code")(gpu_code)


def gpu_code(
    files: Annotated[list[Path], typer.Argument(help="Shared objects, programs, .o and .a files, offload bundles.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show which GPUs a library was compiled for.

    Only headers are read."""
    import json

    from doctor.cli.output import deliver
    from doctor.errors import InputError
    from doctor.parsers.elf import gpu_code as reader
    from doctor.system.live import LiveSystem

    system, wrong, lines = LiveSystem(), [], []
    for file in files:
        reading = system.derived_from("gpu-code", str(file.absolute()), reader.code, deadline_s=60)
        if reading.value is None:
            wrong.append(f"{file}: {_why(reading.detail) or reading.state.value}")
        elif as_json:
            groups = [group._asdict() for group in reading.value.objects]
            lines.append(json.dumps({"file": str(file), **reading.value._asdict(), "objects": groups}))
        else:
            lines += _listed(file, reading.value)
    if lines:
        deliver("\n".join(lines) + "\n", None, prose=not as_json)
    if wrong:
        raise InputError("; ".join(wrong))


def _why(detail: str | None) -> str | None:
    """`No such file or directory` of ENOENT; other texts as they are."""
    import errno
    import os

    number = getattr(errno, detail, None) if detail and detail.isupper() else None
    return os.strerror(number) if isinstance(number, int) else detail


def _listed(file: Path, code: GpuCode) -> list[str]:
    lines = [str(file)]
    for label, archs in (("SASS", code.sass), ("PTX", code.ptx), ("gfx", code.gfx), ("packed", code.compressed)):
        if archs:
            lines.append(f"  {label + ':':<8}{' '.join(archs)}")
    if not code.objects:
        return [*lines, "  no GPU code"]
    for group in code.objects:
        count = f"{group.number} object{'s' if group.number > 1 else ''}"
        shown = ", ".join(group.names) + (" …" if group.number > len(group.names) else "")
        lines.append(f"  {count}: {' '.join(group.archs)}  ({shown})")
    return lines
