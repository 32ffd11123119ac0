"""Kernel names in the code objects of Debian's rocBLAS and hipBLASLt: each tells whose it is. Run by hand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from doctor.readers.gemm_kernel import library
from tests.live.test_debian_rocm import unpacked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("apt-get") or not shutil.which("dpkg"), reason="needs apt-get and dpkg"),
]
_NAME = re.compile(rb"(?:Custom_)?Cijk_[A-Za-z0-9_]{10,900}")


@pytest.mark.parametrize(
    ("package", "maker", "least"),
    [("librocblas0", "rocblas", 10_000), ("librocblas5", "rocblas", 10_000), ("libhipblaslt1", "hipblaslt", 1_000)],
)
def test_every_kernel_of_a_library_is_taken_for_its_own(package: str, maker: str, least: int, tmp_path: Path) -> None:
    """Skips where this release of the system has no such package, or compresses its code objects."""
    names: set[str] = set()
    for path in sorted(unpacked(package, tmp_path).rglob("*gfx90a*")):
        if path.suffix in (".co", ".hsaco") and path.is_file():
            names |= {found.decode() for found in _NAME.findall(path.read_bytes())}
    if not names:
        pytest.skip(f"{package}: no kernel name stands in the clear")
    assert len(names) >= least
    assert {library(name) for name in names} == {maker}
