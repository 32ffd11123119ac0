"""What a finding advises, in the short form that tests compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from doctor.findings import Finding, Remedy, Scope, Step


def argvs(finding: Finding) -> list[tuple[str, ...]]:
    """The commands of all remedies in order, without steps that have none."""
    return [step.command for remedy in finding.remedies for step in remedy.steps if step.command]


def writes_a_file(argv: Sequence[str]) -> bool:
    """Whether it is the one shell line that there is: quoted lines, printed to a file of /etc."""
    line = r"""printf "%s\\n"(?: "(?:[^"\\$`]|\\["\\$`])*")+ > /etc/[\w./-]+"""
    return len(argv) == 3 and argv[:2] == ("sh", "-c") and re.fullmatch(line, argv[2]) is not None


def titles(finding: Finding) -> list[str]:
    """The titles of the remedies, best first."""
    return [remedy.title for remedy in finding.remedies]


Where = Literal["host", "container", "environment"]
_SCOPE_OF: dict[Where, Scope] = {"host": Scope.HOST, "container": Scope.CONTAINER, "environment": Scope.ENVIRONMENT}


def single(
    text: str,
    command: tuple[str, ...] | None = None,
    where: Where = "host",
    scope: Scope | None = None,
    **more: Any,
) -> Remedy:
    """A remedy of one step, of which the title says all."""
    of_driver = where == "host" and more.get("reboot")
    scope = scope or (Scope.DRIVER if of_driver else _SCOPE_OF[where])
    return Remedy(title=text, scope=scope, steps=(Step(text=text, command=command, where=where),), **more)
