"""Names of facts and what may be compared with them, read off the Snapshot's own models.

>>> kind_of("host.numa_balancing").words, kind_of("gpus[*].arch").words
('a whole number', 'text')
>>> kind_of("host.iommu").options
('off', 'passthrough', 'translated')
>>> kind_of("host.colour") is None
True
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeGuard

from pydantic import BaseModel

from doctor.facts import Snapshot

_WORDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True)
class Kind:
    """What a fact holds: one of `types`; with `options`, one of these texts. `many`: a list of such."""

    types: tuple[type, ...]
    options: tuple[str, ...] = ()
    many: bool = False

    @property
    def words(self) -> str:
        """`a whole number`, `one of off, passthrough, translated`"""
        if self.options:
            return "one of " + ", ".join(self.options)
        return " or ".join(_WORDS[t] for t in self.types)

    def takes(self, value: Any) -> bool:
        """Whether a value can ever equal the fact. A whole number stands for a float; true is no number."""
        if self.options:
            return value in self.options
        if isinstance(value, bool):
            return bool in self.types
        if isinstance(value, int):
            return int in self.types or float in self.types
        return isinstance(value, self.types)


@cache
def kind_of(name: str) -> Kind | None:
    """The kind of a fact by its name, `[*]` for every member of a list; None for a name of no comparable fact."""
    here: Any = Snapshot
    for step in name.split("."):
        word, star, _ = step.partition("[*]")
        models = [m for m in _options(here) if _is_model(m)]
        if models:
            here = models[0].model_fields[word].annotation if word in models[0].model_fields else None
        elif any(typing.get_origin(o) is dict for o in _options(here)):
            here = next(typing.get_args(o)[1] for o in _options(here) if typing.get_origin(o) is dict)
        else:
            return None
        if here is None:
            return None
        if star:
            here = next((a for o in _options(here) if typing.get_origin(o) is tuple for a in typing.get_args(o)), None)
    return _kind(here)


def _kind(annotation: Any) -> Kind | None:
    options: list[str] = []
    plain: list[type] = []
    many = False
    for option in _options(annotation):
        if typing.get_origin(option) is tuple:
            many, option = True, typing.get_args(option)[0]
        if typing.get_origin(option) is Literal:
            options += [str(a) for a in typing.get_args(option)]
            plain.append(str)
        elif option in _WORDS:
            plain.append(option)
    return Kind(tuple(plain), tuple(sorted(options)), many) if plain else None


def _options(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(a for a in typing.get_args(annotation) if a is not type(None))
    return (annotation,)


def _is_model(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


@cache
def all_names() -> tuple[str, ...]:
    """Every comparable fact's name, for "did you mean"."""
    return tuple(_names(Snapshot, "", 0))


def _names(model: type[BaseModel], prefix: str, depth: int) -> Iterator[str]:
    for word, field in model.model_fields.items():
        if kind_of(f"{prefix}{word}"):
            yield f"{prefix}{word}"
        for option in _options(field.annotation):
            inner = next(iter(typing.get_args(option)), None) if typing.get_origin(option) is tuple else option
            if _is_model(inner) and depth < 3:
                below: type[BaseModel] = inner
                yield from _names(below, f"{prefix}{word}{'[*]' if inner is not option else ''}.", depth + 1)
