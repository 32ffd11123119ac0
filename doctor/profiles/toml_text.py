"""TOML that a person wrote -> its table, or one line why it is none. Text that would cost minutes is refused.

>>> table("a.toml", "a = 1")
{'a': 1}
"""

from __future__ import annotations

import re
import sys
from typing import Any

from doctor.errors import DataFileError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_STEPS = 100
_LONG_KEY = re.compile(rf"(?:[A-Za-z0-9_-]{{1,64}}[ \t]{{0,8}}\.[ \t]{{0,8}}){{{_STEPS}}}")
"""`a.b.c…`: what such a key costs grows with the square of its steps."""


def table(path: str, text: str) -> dict[str, Any]:
    """Raises DataFileError; `path` names the file."""
    if _LONG_KEY.search(text):
        raise DataFileError(path, [f"a key of more than {_STEPS} steps"])
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataFileError(path, [f"not TOML: {error}"]) from error
    except RecursionError as error:
        raise DataFileError(path, ["not TOML: nested too deeply"]) from error
