"""A configuration file in JSON or TOML -> where it is broken, in words; None where it can be read.

>>> of_json('{"runtimes": {}}') is None, of_json('{"runtimes": {}')
(True, "line 1: Expecting ',' delimiter")
>>> of_json("[]")
'no table of settings'
"""

from __future__ import annotations

import importlib
import json
import re

_AT_LINE = re.compile(r"^(.{1,120}?) \(at (?:line (\d{1,6})|end of document)")


def of_json(text: str) -> str | None:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg[:120]}"
    except ValueError:  # int() refuses more than 4,300 digits
        return "a number that is too long"
    except RecursionError:
        return "too many brackets"
    return None if isinstance(data, dict) else "no table of settings"


def of_toml(text: str) -> str | None:
    """None as well on Pythons that bring no parser of it (3.10)."""
    try:
        tomllib = importlib.import_module("tomllib")
    except ImportError:
        return None
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = _AT_LINE.match(str(error))
        return f"line {found[2] or 'last'}: {found[1]}" if found else "it is no TOML"
    return None
