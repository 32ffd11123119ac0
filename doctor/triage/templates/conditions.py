"""Conditions on facts: what must be known of a machine for an error text to point to a cause.

Asked are names of facts (`container.inside`), `package:NAME` (version of a Python package), `env:NAME` (an environment
variable) and `gpu:FIELD` (that field of any known GPU). A wanted value is a scalar, a list of which one must fit,
`"known"`, or a text with `*`, which stands for anything, case ignored.

>>> like("gfx942", "gfx94*"), like("--device=/dev/kfd --rm", "*/dev/kfd*"), like("gfx90a", "gfx94*")
(True, True, False)
"""

from __future__ import annotations

from typing import Any

from doctor.facts.snapshot import Snapshot


def holds(machine: Snapshot, name: str, wanted: Any) -> bool:
    """Whether the fact is known and has that value. Raises ValueError for a name of no known kind."""
    known = [value for value in _values(machine, name) if value is not None]
    if wanted == "known":
        return any(value != "" for value in known)  # an empty variable is shown as often as it is set
    choices = wanted if isinstance(wanted, list | tuple) else (wanted,)
    return any(_is(value, choice) for value in known for choice in choices)


def like(text: str, pattern: str) -> bool:
    """Whether a text fits a pattern in which `*` stands for anything: its parts are there in order."""
    low = text.lower()
    first, *rest = pattern.lower().split("*")
    if not rest:
        return low == first
    if not low.startswith(first) or len(low) < len(first) + len(rest[-1]) or not low.endswith(rest[-1]):
        return False
    at, end = len(first), len(low) - len(rest[-1])
    for part in rest[:-1]:
        found = low.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _is(value: Any, choice: Any) -> bool:
    if isinstance(choice, str) and not isinstance(value, bool):
        return like(str(value), choice)
    return bool(value == choice)


def _values(machine: Snapshot, name: str) -> list[Any]:
    kind, colon, key = name.partition(":")
    if not colon:
        value = machine.get(name)
        return list(value) if isinstance(value, tuple) else [value]
    if kind == "package":
        return [package.version for package in machine.packages or () if package.name == key]
    if kind == "env":
        return [(machine.environment or {}).get(key)]
    if kind == "gpu":
        return [getattr(gpu, key) for gpu in machine.gpus or ()]
    raise ValueError(f"{name}: not a fact, package:, env: or gpu:")
