"""Where the shared captures lie, for tests that read them in place; they skip where these are missing."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

SHARED = Path(__file__).resolve().parents[2] / "shared"
FIELDLAB = SHARED / "fieldlab"
FIELD = SHARED / "field"
CAPTURES = Path(__file__).parent / "captures"

needs_shared = pytest.mark.skipif(not FIELDLAB.is_dir(), reason="the shared captures of other machines are not here")


@lru_cache(maxsize=1)
def captured() -> list[dict[str, Any]]:
    """INDEX.yaml's entry of each captured machine; none where the captures are missing. Not to be changed."""
    path = FIELDLAB / "INDEX.yaml"
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))[
        "machines"
    ]
    return rows
