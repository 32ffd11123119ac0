"""Which tables describe a variable, by its name. Only the table of its component family is read.

>>> grammar_of("NCCL_P2P_DISABLE"), grammar_of("NO_SUCH_NAME")
('nccl_int', None)
"""

from __future__ import annotations

from typing import Any

from doctor.knowledge.store import kept, table


@kept
def described(name: str) -> tuple[dict[str, Any], ...]:
    """Its entries, one a component that reads it, those that are AMD's alone last; () where it is not described."""
    row = table("flags/names").get(name)
    if row is None:
        return ()
    held = (flag for where in row["tables"] for flag in table(f"flags/{where}").values())
    return tuple(sorted((flag for flag in held if flag["name"] == name), key=lambda flag: flag["vendor"] == "amd"))


def grammar_of(name: str) -> str | None:
    """The grammar of its first reader that has one."""
    return next((f["grammar"] for f in described(name) if f.get("grammar")), None)
