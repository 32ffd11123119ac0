"""Which torch a release of vLLM or xformers was compiled for: each pins one (published metadata, 2026-11-21)."""

from __future__ import annotations

from doctor.redaction.lazy import Lazy
from doctor.versions import Dotted

_VLLM = (
    ("0.2.7", "2.1"), ("0.4.1", "2.2"), ("0.4.2", "2.3"), ("0.5.4", "2.4"), ("0.6.4", "2.5"), ("0.8.0", "2.6"),
    ("0.9.0", "2.7"), ("0.10.2", "2.8"), ("0.11.1", "2.9"), ("0.17.0", "2.10"), ("0.20.0", "2.11"), ("0.27.1", "2.13"),
    ("0.33.0", "2.14"),
)  # fmt: skip
_XFORMERS = (
    ("0.0.20", "2.0"), ("0.0.22.post7", "2.1"), ("0.0.24", "2.2"), ("0.0.26.post1", "2.3"), ("0.0.27.post2", "2.4"),
    ("0.0.28.post2", "2.5"), ("0.0.29.post2", "2.6"), ("0.0.30", "2.7"), ("0.0.32", "2.8"), ("0.0.33", "2.9"),
)  # fmt: skip
"""First release that pins that series of torch; every later one does until the next row."""
_OPEN_ENDED = {"vllm": None, "xformers": "0.0.34"}
"""From that release on a range is asked for, not one torch."""
_OWN_BUILD = Lazy(r"(?:g(?:it)?)?[0-9a-f]{7,40}(?:\.|$)|(?:[\w-]{1,40}\.)?d20\d{6}$")
_TABLES = {"vllm": _VLLM, "xformers": _XFORMERS}


def torch_series(package: str, version: str) -> str | None:
    """`torch_series("vllm", "0.6.3")` is `2.4`. None before the first row, where a range is asked for, and for a
    build of one's own, which is made for the torch that was there: its version names a commit or a day."""
    plain, _, local = version.partition("+")
    if _OWN_BUILD.match(local):
        return None
    until = _OPEN_ENDED[package]
    if not all(part.isdigit() or part.startswith("post") for part in plain.split(".")):
        return None
    number = _number(plain)
    if until and number >= _number(until):
        return None
    held = [series for first, series in _TABLES[package] if number >= _number(first)]
    return held[-1] if held else None


def _number(version: str) -> tuple[int, ...]:
    """`0.0.28.post2` → (0, 0, 28, 2)."""
    return tuple(int(part.removeprefix("post")) for part in version.split("."))


def series_of(version: str | None) -> str | None:
    """`2.5` of `2.5.1+cu124`."""
    return Dotted(version).series() if version else None
