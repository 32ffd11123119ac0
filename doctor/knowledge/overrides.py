"""AMD targets that run the code of a relative with HSA_OVERRIDE_GFX_VERSION: unofficial, and what owners use."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DATA = Path(__file__).parent / "data"


class Override(BaseModel):
    """`value` for the variable and the `target` whose code then runs; both None where no override works."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    gfx: tuple[str, ...]
    value: str | None = None
    target: str | None = None
    risk: str
    source: str
    as_of: str


@cache
def overrides() -> tuple[Override, ...]:
    """Every row of the file."""
    return tuple(map(Override.model_validate, rows("gfx_overrides", "gfx")))


def rows(name: str, key: str) -> list[dict[str, Any]]:
    """The tables of that key in `data/NAME.toml`."""
    found: list[dict[str, Any]] = tomllib.loads((_DATA / f"{name}.toml").read_text("utf-8"))[key]
    return found


def override_of(gfx: str) -> Override | None:
    """The row of that target (`gfx1031`, `gfx90c:xnack-`)."""
    plain = gfx.partition(":")[0]
    return next((row for row in overrides() if plain in row.gfx), None)
