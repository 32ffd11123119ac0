"""Report -> text: one module a format, found by this package. `--format` takes its name.

Each has `render(report, *, unredacted=False) -> str`, which tells what `json.as_data` leaves of the report, redacted.
A module may say of itself, each False unless it does:

- `STREAMS`: several reports, one after another, are one output (for several files of `doctor triage`);
- `NEEDS_RULES`: `render` takes all rules as its second argument;
- `FOR_OTHERS`: it is made to be pasted where others read, and is never written unredacted.

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.findings import Report, Rule


def names() -> tuple[str, ...]:
    """What `--format` takes beside `text`."""
    return tuple(found.name for found in iter_modules(__path__))


def streams(name: str) -> bool:
    """Whether several reports of that format, one after another, are one output."""
    return bool(getattr(_module(name), "STREAMS", False))


def render(name: str, report: Report, rules: Callable[[], Sequence[Rule]] = tuple, *, unredacted: bool = False) -> str:
    """`name` is one of `names()`; `rules` is called where the format shows those that found nothing, too."""
    module = _module(name)
    args = [report, rules()] if getattr(module, "NEEDS_RULES", False) else [report]
    how = {} if getattr(module, "FOR_OTHERS", False) else {"unredacted": unredacted}
    text: str = module.render(*args, **how)
    return text


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")
