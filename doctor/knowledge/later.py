"""A module that is imported when something of it is first asked for: a check that asks no question loads no models."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for the module of that name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value
