"""The ids of all rules, as their files are called: nothing is imported, so anything may ask.

A rule's file is its id with underscores, in a folder of doctor/rules (`lib` holds none); tests/contracts/test_rules.py
holds that. An id is never renamed or used again.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_RULES = Path(__file__).with_name("rules")
LIB = "lib"


@cache
def rule_ids() -> frozenset[str]:
    """`nvidia-driver-too-old` of doctor/rules/driver/nvidia_driver_too_old.py, and so on."""
    files = (*_RULES.glob("*/[a-z]*.py"), *(path.parent for path in _RULES.glob("*/[a-z]*/__init__.py")))
    return frozenset(path.stem.replace("_", "-") for path in files if path.parent.name != LIB)
