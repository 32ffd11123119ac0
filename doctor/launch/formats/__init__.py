"""A Spec in the words of each engine: one module a format, found by this package; `--emit` takes its name.

Each has `emit(spec) -> Emitted`. A module may say of itself, each False unless it does:

- `LOCAL`: an engine of this machine will read it; what the others say is read elsewhere;
- `IMAGES`: origins of images that it reads beside registries (none unless it does);
- `SHELL`: it is shell text, which has no escapes that every shell knows: a control character would be there as it
  is, and a terminal or an editor would act on it.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from doctor.errors import InputError
from doctor.launch.names import origin
from doctor.launch.spec import Emitted, Spec

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def emit(name: str, spec: Spec) -> Emitted:
    """Raises KeyError on a format that is none, InputError on a value that the format can't hold."""
    check_image(name, spec.image)
    for value in (*spec.command, *(part.value for part in spec.parts)):
        if fault := _fault(name, value):
            raise InputError(f"--emit {name}: {value[:60]!r} holds {fault}")
    emitted: Emitted = _module(name).emit(spec)
    return emitted


def check_image(name: str, image: str) -> None:
    """Raises InputError where that engine or format reads no image of that origin."""
    found = origin(image)
    if found == "registry" or found in getattr(_module(name), "IMAGES", ()):
        return
    readers = ", ".join(one for one in names() if found in getattr(_module(one), "IMAGES", ()))
    load = f"; or load it: docker load -i {image.partition(':')[2]}" if found == "docker-archive" else ""
    raise InputError(f"{name} can't read {image[:120]!r} ({found}); {readers} can{load}")


@cache
def names() -> tuple[str, ...]:
    """What `--emit` takes."""
    return tuple(found.name.replace("_", "-") for found in iter_modules(__path__))


def is_local(name: str) -> bool:
    """Whether an engine of this machine will read it."""
    return bool(getattr(_module(name), "LOCAL", False))


def _module(name: str) -> ModuleType:
    if name not in names():
        raise KeyError(name)
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def _fault(name: str, value: str) -> str | None:
    if any("\ud800" <= c <= "\udfff" for c in value):
        return "bytes that are no UTF-8"
    if getattr(_module(name), "SHELL", False) and any(
        (unicodedata.category(c) == "Cc" and c not in "\t\n") or c in _BIDI for c in value
    ):
        return "a control character, which a shell line can't write"
    return None
