"""`doctor fleet health`: this node, for a scheduler or monitor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def health(
    for_: Annotated[
        str, typer.Option("--for", metavar="slurm-prolog|slurm-epilog|slurm-health|npd|nhc", help="The caller.")
    ],
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs that this node should have.")] = None,
    scope: Annotated[
        str | None, typer.Option(metavar="hardware|firmware|driver|host", help="Only findings of this scope.")
    ] = None,
    fail_on: Annotated[str, typer.Option(metavar="error|warning", help="The least severity that counts.")] = "error",
    from_: Annotated[Path | None, typer.Option("--from", help="Check this capture or bundle.")] = None,
    root: Annotated[Path | None, typer.Option(help="Check the tree under this folder; run no command.")] = None,
) -> int:
    """Check this node for a scheduler or monitor: a line and an exit code."""
    from doctor.cli.check import _allowed, _system
    from doctor.cli.output import notice, tell
    from doctor.engine.run import Options, examine
    from doctor.errors import DoctorError
    from doctor.fleet import health as contract

    system = _system(from_, root)
    try:
        found = examine(system, Options(allowed=_allowed(None)))
        answer = contract.answer(found, for_, fail_on=fail_on, gpus=gpus, scope=scope)
    except DoctorError as error:
        answer = contract.failed(for_, str(error))
    except Exception as error:  # noqa: BLE001 -- a fault of ours must not drain a node
        answer = contract.failed(for_, type(error).__name__)
    (tell if answer.to_stderr else notice)(answer.line + "\n")
    return answer.code
