"""Debian's ROCm libraries: GPU targets in their offload bundles and in the names of their kernel files.

Run by hand on a Debian or Ubuntu whose package lists are current: nothing is installed, packages are unpacked aside.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.parsers.blas.rocm_library_files import target
from doctor.parsers.elf import elf_dynamic, gpu_code
from doctor.parsers.elf.elf import head
from doctor.system.live import LiveSystem

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("apt-get") or not shutil.which("dpkg"), reason="needs apt-get and dpkg"),
]


def unpacked(package: str, folder: Path) -> Path:
    """Skips where this release of the system has no such package."""
    ran = subprocess.run(
        ["apt-get", "download", package], cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )
    found = list(folder.glob(f"{package}_*.deb"))
    if not found:
        pytest.skip(f"{package}: {ran.stderr.strip()[-200:]}")
    subprocess.run(["dpkg", "-x", found[0], folder / "root"], check=True, timeout=300)
    return folder / "root"


def library(root: Path, name: str) -> Path:
    return next(p for p in sorted(root.rglob(f"{name}.so.*")) if p.is_file() and not p.is_symlink())


def read(path: Path) -> gpu_code.GpuCode:
    reading = LiveSystem().derived_from("gpu-code", str(path), gpu_code.code, deadline_s=60)
    assert reading.value is not None, reading.detail
    return reading.value


@pytest.mark.parametrize(
    ("package", "name", "objects"),
    [("librccl1", "librccl", 1), ("librocrand1", "librocrand", 1), ("librocsparse0", "librocsparse", 50),
     ("librocsolver0", "librocsolver", 100)],
)  # fmt: skip
def test_targets_of_every_object(package: str, name: str, objects: int, tmp_path: Path) -> None:
    code = read(library(unpacked(package, tmp_path), name))
    bare = {arch.partition(":")[0] for arch in code.gfx}
    assert {"gfx906", "gfx908", "gfx90a", "gfx1030"} <= bare
    assert not code.sass
    assert sum(group.number for group in code.objects) >= objects
    assert len(code.objects) == 1, "all objects of one library have the same targets"


def test_rocblas_bundles_and_kernel_files_name_the_same_targets(tmp_path: Path) -> None:
    root = unpacked("librocblas0", tmp_path)
    code = read(library(root, "librocblas"))
    files = {found for path in root.rglob("*") if path.is_file() and (found := target(path.name))}
    assert {arch.partition(":")[0] for arch in files} == set(code.gfx)
    assert {"gfx90a:xnack+", "gfx90a:xnack-"} <= files


def test_the_runtime_of_hip_has_no_code_and_names_what_it_needs(tmp_path: Path) -> None:
    path = library(unpacked("libamdhip64-5", tmp_path), "libamdhip64")
    assert read(path).objects == ()

    def needed(pieces):  # type: ignore[no-untyped-def]
        told = elf_dynamic.dynamic(pieces, head(pieces))
        return [told.soname, *told.needed] if told else []

    reading = LiveSystem().derived_from("needed", str(path), needed)
    assert reading.value is not None
    assert reading.value[0] == "libamdhip64.so.5"
    assert any(name.startswith("libhsa-runtime64.so") for name in reading.value)
