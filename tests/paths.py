"""Where the shared captures lie, for tests that read them in place; they skip where these are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
FIELDLAB = SHARED / "fieldlab"
FIELD = SHARED / "field"
CAPTURES = Path(__file__).parent / "captures"

needs_shared = pytest.mark.skipif(not FIELDLAB.is_dir(), reason="the shared captures of other machines are not here")
