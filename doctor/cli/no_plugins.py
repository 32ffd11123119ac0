"""pydantic's plugins, of whatever package is installed beside us, have no business here, and are turned off.

Even so pydantic imports the module that would look for them, and with it importlib.metadata and the email package: a
twentieth of a check's time. A stand-in says that there are none; whatever else is asked of it, the real one answers.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

LOADER = "pydantic.plugin._loader"


class _NoPlugins(ModuleType):
    @staticmethod
    def get_plugins() -> tuple[()]:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(LOADER) is self:
            del sys.modules[LOADER]
        return getattr(import_module(LOADER), name)


def turn_off() -> None:
    """Before pydantic is imported."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.modules.setdefault(LOADER, _NoPlugins(LOADER))
