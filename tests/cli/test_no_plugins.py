"""The stand-in for pydantic's loader of plugins: models are made without it, and the rest of it is the real one's."""

from __future__ import annotations

import subprocess
import sys

MODEL = "import doctor.cli.main, sys; from doctor.facts.snapshot import Snapshot; Snapshot.model_validate({})"


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def test_models_are_made_and_nothing_looks_for_plugins() -> None:
    assert said(f"{MODEL}; print('importlib.metadata' in sys.modules)") == "False"


def test_what_else_is_asked_of_the_loader_is_answered_by_the_real_one() -> None:
    group = "from pydantic.plugin._loader import PYDANTIC_ENTRY_POINT_GROUP as group; print(group)"
    assert said(f"{MODEL}; {group}") == "pydantic"
