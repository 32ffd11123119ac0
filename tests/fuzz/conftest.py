"""The harness needs atheris, which only fuzzing installs: it is run as a program and never collected."""

from __future__ import annotations

collect_ignore = ["fuzz_parsers.py"]
