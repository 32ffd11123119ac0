"""Text or bytes of one tool or file -> facts. Pure: no parser asks the machine for anything.

One folder an area. A parser's name is its file's, whatever folder it lies in.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from doctor import areas


@cache
def names() -> Mapping[str, str]:
    """Name of each parser → its module's dotted name. Nothing is imported."""
    return areas.modules(__name__, __path__)


def load(name: str) -> ModuleType:
    """The module of that name. Raises KeyError where there is none."""
    return importlib.import_module(names()[name])
