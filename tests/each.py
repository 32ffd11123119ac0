"""One test over many cases, each named when it fails: for tables whose rows are no examples of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

SHOWN = 20
"""Failures that are told in full; the others are counted."""


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but one item: all cases are run, then all that failed are reported. Fixtures are
    shared by the cases."""
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_row(case, len(words)) for case in cases]
    assert rows, f"no case of {names}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:
            failed = [told for row in rows if (told := _failure(test, dict(zip(words, row, strict=True)), fixtures))]
            more = [f"… and {len(failed) - SHOWN} more"] if len(failed) > SHOWN else []
            if failed:
                pytest.fail(
                    "\n\n".join([f"{len(failed)} of {len(rows)} failed", *failed[:SHOWN], *more]), pytrace=False
                )

        signature = inspect.signature(test)
        rest = [value for name, value in signature.parameters.items() if name not in words]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate


def _row(case: Any, count: int) -> tuple[Any, ...]:
    """The values of a case; a `pytest.param` carries its own as `values`."""
    given = getattr(case, "values", None)
    if isinstance(given, tuple):
        return given
    return tuple(case) if count > 1 else (case,)


def _failure(test: Callable[..., None], case: dict[str, Any], fixtures: dict[str, Any]) -> str | None:
    try:
        test(**case, **fixtures)
    except (Exception, pytest.fail.Exception) as fault:  # noqa: BLE001 -- a case that crashes has failed too
        line = fault.__traceback__
        while line and line.tb_next:
            line = line.tb_next
        at = f"{line.tb_frame.f_code.co_filename.rpartition('/')[2]}:{line.tb_lineno}: " if line else ""
        shown = ", ".join(f"{name}={str(value)[:200]!r}" for name, value in case.items())
        return f"{shown}\n    {at}{type(fault).__name__}: {str(fault)[:1500]}"
    return None
