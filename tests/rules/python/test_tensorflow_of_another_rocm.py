"""tensorflow-gpu-mismatch: the loader misses a runtime of another ROCm than the one that is installed."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.rules.python import tensorflow_gpu_mismatch as rule
from tests.rules.driver.asked import told
from tests.rules.machines import build

MISSING = "ImportError: libamdhip64.so.5: cannot open shared object file: No such file or directory"


def importing(rocm: str | None = "6.2.0", named: bool = True, **facts: Any) -> Any:
    symptoms = {"rocm-library-not-found": MISSING} | ({"tensorflow-named": "import tensorflow as tf"} if named else {})
    installed = {"rocm[shown].version": rocm, "rocm[shown].path": "/opt/rocm"} if rocm else {}
    return build({"symptoms": symptoms, **installed, **facts})


@pytest.mark.parametrize(
    "machine",
    [importing("5.7.1"), importing(named=False), importing("6.2.0", True, **{"torch.version": "2.4.0+rocm6.1"})],
    ids=["the same major", "not of TensorFlow", "torch may ask for it"],
)
def test_near_misses(machine: Any) -> None:
    assert told(rule, machine) == []


def test_an_unknown_rocm_tells_nothing() -> None:
    assert told(rule, importing(None)) == []
