"""Flags that a Dockerfile sets for its build and that the container does not get: `RUN export`, `ARG`."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.flags.way import findings, run
from doctor.images.lint.model import Fault


def faults(source: str, text: str) -> Iterator[Fault]:
    for fault in findings.faults(run.follow(source, text, "dockerfile"), text):
        if fault.id in ("run-export", "build-argument"):
            yield Fault(fault.steps[0].line, "image-flag-lost", "warning", fault.problem, fault.cure)
