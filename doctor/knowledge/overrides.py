"""AMD targets that run the code of a relative with HSA_OVERRIDE_GFX_VERSION: unofficial, and what owners use."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_FILE = Path(__file__).parent / "data" / "gfx_overrides.toml"


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
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tuple(Override.model_validate(row) for row in tomllib.loads(_FILE.read_text(encoding="utf-8"))["gfx"])


def override_of(gfx: str) -> Override | None:
    """The row of that target (`gfx1031`, `gfx90c:xnack-`)."""
    plain = gfx.partition(":")[0]
    return next((row for row in overrides() if plain in row.gfx), None)
