"""Whether a YAML text is nested so deeply that libyaml's binding would run out of stack, which ends the process.

>>> check("a: [1, {b: 2}]")
>>> check("[" * 1000)
Traceback (most recent call last):
doctor.errors.ParserError: nested more than 200 levels deep
"""

from __future__ import annotations

import re
from typing import Any

from doctor.errors import ParserError

LEVELS = 200
_INDENTED = re.compile(rf"^[ \t?:-]{{{LEVELS}}}", re.MULTILINE)
"""Block collections open one level a column at most."""


def check(text: str) -> None:
    """Raises ParserError. What can't be so deep by its brackets and columns is not parsed for it."""
    if text.count("[") + text.count("{") < LEVELS and not _INDENTED.search(text):
        return
    import yaml

    depth = 0
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.events.CollectionStartEvent)
            depth -= isinstance(event, yaml.events.CollectionEndEvent)
            if depth > LEVELS:
                raise ParserError(f"nested more than {LEVELS} levels deep")
    except yaml.YAMLError:
        return  # its parser says what is wrong
