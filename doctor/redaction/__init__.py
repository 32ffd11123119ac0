"""What is a secret, what is a name, and what is in their place. Works on text and on plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.redaction.redactor import Redactor

__all__ = ["Redactor"]


def __getattr__(name: str) -> Any:
    """`Redactor` is imported when it is asked for: text output masks secrets alone."""
    if name == "Redactor":
        from doctor.redaction.redactor import Redactor

        return Redactor
    raise AttributeError(name)
