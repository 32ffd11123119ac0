"""A check of an environment with gigabytes of GPU libraries reads headers and tables, and no library as a whole.

Run by hand: `DOCTOR_WHEELS=FOLDER python -m pytest -m slow tests/live/test_bytes_read.py`. The kernel counts: the bytes
that a process and the children that it waited for were handed by read(2) and pread(2) are in /proc/self/io; no library
is mapped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.wheels import Wheels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="this kernel does not count what is read"),
]
PACKAGES = ("torch==2.4.1", "tensorflow-rocm==2.14.0.600", "jax-rocm7-pjrt==0.10.2", "jax-rocm7-plugin==0.10.2",
            "onnxruntime-gpu==1.23.2", "cupy-rocm-7-0==14.2.0")  # fmt: skip
PROGRAM = """
import re, subprocess, sys
def handed():
    return int(re.search(r"rchar: (\\d+)", open("/proc/self/io").read())[1])
before = handed()
ran = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.DEVNULL)
print(handed() - before)
"""


def test_gigabytes_of_libraries_are_not_read(tmp_path: Path) -> None:
    wheels = Wheels(Path(os.environ.get("DOCTOR_WHEELS") or tmp_path / "wheels"), tmp_path / "unpacked")
    wheels.environment(tmp_path / "env", PACKAGES, "3.10.12")
    there = sum(p.stat().st_size for p in (tmp_path / "env").rglob("*.so*"))
    doctor = Path(sys.executable).parent / "doctor"
    report = tmp_path / "report.json"
    argv = [sys.executable, "-c", PROGRAM, report, doctor, "check", "--format", "json", "--python", tmp_path / "env"]
    told = subprocess.run(list(map(str, argv)), check=True, capture_output=True, text=True, timeout=300).stdout
    shutil.rmtree(tmp_path / "unpacked")
    (handed,) = map(int, re.findall(r"\d+", told))
    binaries = json.loads(report.read_text())["snapshot"]["binaries"]
    assert {b["package"] for b in binaries} >= {"torch", "tensorflow-rocm", "jax-rocm7-pjrt", "onnxruntime-gpu"}
    assert there > 2_000_000_000
    assert handed < there / 25
    shutil.rmtree(tmp_path / "env")
