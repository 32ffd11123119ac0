"""A format of reports that is written without redaction fails here: formats are found by their package."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import doctor.report
from doctor.report import formats
from doctor.report.terminal import Look
from tests.report.example import report

_SECRETS = ("plainword", "hf_aaa")
_NAMES = ("alice77",)
_OF_THIS_TERMINAL = ("terminal", "plan", "why", "picture")
"""What is only shown to whoever ran it; it holds no secrets, but may hold names."""


def _renders() -> Iterator[tuple[str, Callable[..., str]]]:
    places = [*doctor.report.__path__, *formats.__path__]
    for found in pkgutil.iter_modules(places):
        inside = "doctor.report.formats" if found.name in formats.names() else "doctor.report"
        render = getattr(import_module(f"{inside}.{found.name}"), "render", None)
        if render is None or found.name == "formats":
            continue
        first = next(iter(inspect.signature(render).parameters.values()), None)
        if first is not None and str(first.annotation).endswith("Report"):
            yield found.name, render


def _called(render: Callable[..., str]) -> str:
    more: list[Any] = [
        Look(plain=True) if "Look" in str(parameter.annotation) else ()
        for parameter in list(inspect.signature(render).parameters.values())[1:]
        if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    return str(render(report(), *more))


def test_no_format_tells_a_secret_or_a_name() -> None:
    told = {name: _called(render) for name, render in _renders()}
    assert set(formats.names()) <= set(told)
    leaks = [
        (name, word)
        for name, text in told.items()
        for word in (*_SECRETS, *(() if name in _OF_THIS_TERMINAL else _NAMES))
        if word in text
    ]
    assert not leaks


def test_the_example_holds_what_must_not_be_told() -> None:
    """Else the test above could not fail."""
    whole = formats.render("json", report(), unredacted=True)
    assert all(word in whole for word in (*_SECRETS, *_NAMES))
