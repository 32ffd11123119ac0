"""Big inputs: `doctor triage` ends, in memory that does not grow with the input. 1 to 8 MiB; 50 MiB with -m slow."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MEBIBYTE = 1 << 20
PEAK_LIMIT = 150 * MEBIBYTE
PATIENCE_S = 300
"""No statement on speed: a loaded machine may be slow; what is quadratic does not end in this."""

_PEAK_OF_CHILD = """
import json, resource, subprocess, sys, time
start = time.monotonic()
done = subprocess.run([sys.executable, "-m", "doctor", "triage", "--format", "jsonl", sys.argv[1]],
                      stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps({"code": done.returncode, "peak": peak, "seconds": time.monotonic() - start}))
"""
"""Run by a small interpreter of its own: a child's peak counts from the size of the process that started it."""


def _log_lines(size: int) -> Iterator[bytes]:
    line = b"[    4.123456] amdgpu 0000:c1:00.0: amdgpu: ring sdma0.0 uses VM inv eng 7 on hub 8\n"
    for _ in range(size):
        yield line * (MEBIBYTE // len(line))


def _one_line(size: int) -> Iterator[bytes]:
    for _ in range(size):
        yield b"GPU: x" * (MEBIBYTE // 6)


def _random_bytes(size: int) -> Iterator[bytes]:
    dice = random.Random(1)
    for _ in range(size):
        yield dice.randbytes(MEBIBYTE).replace(b"\n", b"x")


def _fences(size: int) -> Iterator[bytes]:
    """A million and more in 50 MiB."""
    for _ in range(size):
        yield b"```\ntext of a fence\n" * (MEBIBYTE // 20)


def _labels(size: int) -> Iterator[bytes]:
    for _ in range(size):
        yield b"GPU: RX 7900 XTX\nROCm version: 6.2\n" * (MEBIBYTE // 35)


def peak(tmp_path: Path, text: Iterator[bytes]) -> dict[str, float]:
    """Exit code, peak resident bytes and seconds of one triage of that text."""
    path = tmp_path / "big.txt"
    with path.open("wb") as held:
        held.writelines(text)
    done = subprocess.run(
        [sys.executable, "-S", "-c", _PEAK_OF_CHILD, str(path)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    path.unlink()
    told: dict[str, float] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(
    ("text", "size"), [(_log_lines, 4), (_one_line, 8), (_random_bytes, 8), (_fences, 3), (_labels, 1)]
)
def test_some_mebibytes_in_bounded_memory(tmp_path: Path, text: Callable[[int], Iterator[bytes]], size: int) -> None:
    _ends_small(tmp_path, text, size)


@pytest.mark.slow
@pytest.mark.parametrize("text", [_log_lines, _one_line, _random_bytes, _fences, _labels])
def test_fifty_mebibytes_in_bounded_memory(tmp_path: Path, text: Callable[[int], Iterator[bytes]]) -> None:
    _ends_small(tmp_path, text, 50)


def _ends_small(tmp_path: Path, text: Callable[[int], Iterator[bytes]], size: int) -> None:
    told = peak(tmp_path, text(size))
    print(f"{text.__name__}, {size} MiB: peak {told['peak'] / MEBIBYTE:.0f} MiB, {told['seconds']:.1f} s")
    assert told["code"] == 0
    assert told["peak"] < PEAK_LIMIT
