"""Environments whose torch was broken on purpose: a real one, of which a function is replaced once it is imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.system.user_python import trusted

ENVIRONMENT = os.environ.get("DOCTOR_CPU_TORCH_ENV")
needs_torch = pytest.mark.skipif(
    not ENVIRONMENT and not os.environ.get("DOCTOR_REQUIRE_TORCH"),
    reason="DOCTOR_CPU_TORCH_ENV names no environment with torch",
)
HOOK = """
import sys
import importlib.util


class AfterTorch:
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            broken(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, AfterTorch())


def broken(torch):
    import ctypes, os, time
    F = torch.nn.functional
"""


@contextmanager
def broken(fault: str) -> Iterator[Path]:
    """A Python with torch, after whose import `fault` runs (`torch`, `F`, `ctypes`, `os` and `time` are there). It lies
    beside the whole environment: as root the doctor runs nothing that others can write."""
    assert ENVIRONMENT, "DOCTOR_REQUIRE_TORCH is set, and DOCTOR_CPU_TORCH_ENV is not"
    whole = Path(ENVIRONMENT)
    folder = whole.parent / f"broken-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        subprocess.run([whole / "bin/python", "-m", "venv", "--without-pip", folder], check=True, timeout=120)
        own = next(folder.glob("lib/python3*/site-packages"))
        for path in next(whole.glob("lib/python3*/site-packages")).iterdir():
            if path.name != "__pycache__":
                (own / path.name).symlink_to(path)
        lines = "".join(f"    {line}\n" for line in fault.strip().splitlines())
        (own / "broken_on_purpose.py").write_text(HOOK + lines, encoding="utf-8")
        (own / "broken_on_purpose.pth").write_text("import broken_on_purpose\n", encoding="utf-8")
        try:
            trusted(str(folder / "bin/python"))
        except InputError as refused:
            pytest.skip(str(refused))
        yield folder / "bin/python"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def doctor(*words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doctor", *words],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
