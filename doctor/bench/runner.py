"""What all children of a run share: their Python, their environment, their bounds."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor.system.base import System
from doctor.system.user_python import Bounds, Child, environment, tunable

SCRIPT = Path(__file__).parent / "scripts/bench_child.py"
_LOGS = ("HIPBLASLT_LOG_MASK", "HIPBLASLT_LOG_LEVEL", "ROCBLAS_LAYER", "CUBLASLT_LOG_LEVEL", "CUBLAS_LOGINFO_DBG")
"""Logging costs time in each product, so a measurement is made without."""
_SILENCE_S = 150.0
"""A compiler's first run, and the start of a GPU with gigabytes of code objects."""


@dataclass(frozen=True)
class Runner:
    """What all children share. `memory_bytes` is of one child with all that it starts; `ends` is when the whole run has
    to be over (time.monotonic); `over` ends every child at once."""

    python: str
    environ: Mapping[str, str]
    system: System
    memory_bytes: int = 24 << 30
    silence_s: float = _SILENCE_S
    script: Path = SCRIPT
    ends: float = math.inf
    over: threading.Event = field(default_factory=threading.Event)

    def left(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    def child(self, request: Mapping[str, Any], total_s: float, added: Mapping[str, str] | None = None) -> Child:
        env = environment(self.environ, added or {}, (*_LOGS, *tunable(self.environ)))
        allowed = max(0.1, min(total_s, self.left()))
        child = Child(self.python, self.script, request, env, Bounds(allowed, self.silence_s, self.memory_bytes))
        child.until(self.over.is_set)
        return child
