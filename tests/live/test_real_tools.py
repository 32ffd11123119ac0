"""Real compilers and profilers of the package indexes: their releases, and the GPUs that they say they serve.

Run by hand: `DOCTOR_WHEELS=FOLDER DOCTOR_DEBS=FOLDER python -m pytest -m slow tests/live/test_real_tools.py`, with an
APT_CONFIG that has Debian's non-free. Some 700 MB are downloaded where the folders are empty.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.engine import registry
from doctor.engine.run import Options, examine
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.knowledge.store import table
from tests.live import debian
from tests.live.test_real_wheels import with_gpu
from tests.live.wheels import Wheels

pytestmark = [pytest.mark.slow, debian.needs_apt]
KB = Knowledge()
NSIGHT = (
    "nsight-compute=2024.1.1.4~12.4.1-2", "nsight-compute-target=2024.1.1.4~12.4.1-2",
    "nsight-systems=2023.4.4.54~12.4.1-2", "nsight-systems-target=2023.4.4.54~12.4.1-2",
)  # fmt: skip
REST = (
    "nvidia-cuda-toolkit=12.4.131~12.4.1-2", "libcudart12=12.4.127~12.4.1-2", "hipcc=5.7.1-6+deb13u1",
    "libamdhip64-5=5.7.1-6+deb13u1", "hipify-clang=6.0.2+dfsg-1",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    folder = tmp_path_factory.mktemp("wheels")
    return Wheels(Path(os.environ.get("DOCTOR_WHEELS") or folder), folder / "unpacked")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tools")
    yield debian.install(folder / "root", *NSIGHT, *REST)
    shutil.rmtree(folder)


def looked(root: Path) -> Report:
    probes = registry.probes(("gpu_tools", "installs"))
    return examine(debian.Rooted(root, {"PATH": "/usr/bin"}), Options(probes=probes))


def said(*argv: object) -> str:
    ran = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, timeout=120)
    return ran.stdout + ran.stderr


def program(root: Path, name: str) -> Path:
    """The ELF file behind the distribution's link or script."""
    found = [p for p in sorted(root.rglob(name)) if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
    return found[0]


def test_releases_are_those_that_the_programs_print(root: Path) -> None:
    told = {t.name: t.version or "" for t in looked(root).snapshot.tools or ()}
    assert f"Version {told['ncu'].rpartition('.')[0]}." in said(program(root, "ncu"), "--version")
    assert f"version {told['nsys']}-" in said(program(root, "nsys"), "--version")
    nvcc = root / "usr/lib/nvidia-cuda-toolkit/bin/nvcc"
    assert f"V{told['nvcc']}" in said(nvcc, "--version")
    assert (told["hipcc"], told["hipconfig"], told["hipify-clang"]) == ("5.7.1", "5.7.1", "6.0.2")


def test_chips_that_nsight_compute_lists_are_those_of_the_table(root: Path) -> None:
    chips = set(re.findall(r"\b[a-z]{2}\d{2,3}[a-z]?\b", said(program(root, "ncu"), "--list-chips")))
    row = KB.tool_support("ncu", "2024.1.1.4")
    assert row
    of_chip = {
        p["chip"].lower(): int(p["compute_capability"].replace(".", ""))
        for p in table("nvidia_products").values()
        if p.get("compute_capability")
    }
    known = {of_chip[chip] for chip in chips if chip in of_chip}
    assert {70, 75, 80, 86, 89, 90} <= known <= set(row.sm)


@pytest.mark.parametrize("wheel", ["nvidia-cuda-nvcc-cu11==11.8.89", "nvidia-cuda-nvcc-cu12==12.4.131",
                                   "nvidia-cuda-nvcc-cu12==12.9.86", "nvidia-cuda-nvcc==13.5.37"])  # fmt: skip
def test_architectures_of_ptxas_and_the_bound_on_gcc_are_those_of_the_table(
    wheel: str, wheels: Wheels, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheels.get(wheel, "3.11")) as content:
        content.extractall(tmp_path)
    (ptxas,) = tmp_path.rglob("ptxas")
    ptxas.chmod(0o755)
    row = KB.cuda_minor(wheel.rpartition("=")[2])
    assert row
    own = {int(n) for n in re.findall(r"sm_(\d{2,3})\b", said(ptxas, "--help"))}
    assert set(row.sm) <= own <= {*row.sm, 70}, "ptxas of CUDA 13 still names sm_70, which nvcc refuses"
    for header in tmp_path.rglob("host_config.h"):
        assert f"__GNUC__ > {row.gcc_max}" in header.read_text()


def test_nvcc_lists_the_table_s_architectures(root: Path, wheels: Wheels, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheels.get("nvidia-cuda-nvcc==13.5.37", "3.11")) as content:
        content.extractall(tmp_path)
    for nvcc, release in (
        (root / "usr/lib/nvidia-cuda-toolkit/bin/nvcc", "12.4"), (tmp_path / "nvidia/cu13/bin/nvcc", "13.5"),
    ):  # fmt: skip
        nvcc.chmod(0o755)
        own = {int(n) for n in re.findall(r"sm_(\d{2,3})\b", said(nvcc, "--list-gpu-code"))}
        row = KB.cuda_minor(release)
        assert row
        assert own == set(row.sm)


@pytest.mark.parametrize(
    ("arch", "named"),
    [
        ("sm_61", {"ncu"}),
        ("sm_52", {"ncu", "nsys"}),
        ("sm_120", {"ncu", "nvcc"}),
        ("sm_90", set()),
        ("gfx1201", {"hipcc"}),
        ("gfx90a", set()),
    ],
)
def test_what_has_no_support_for_the_gpu_is_said(arch: str, named: set[str], root: Path) -> None:
    findings = with_gpu(looked(root), arch).findings
    told = {f.subject.id.split()[0] for f in findings if f.rule == "gpu-tool-unsupported"}
    assert told - {"hipify-clang"} == named


def test_hipify_of_6_0_does_not_read_cuda_12_4(root: Path) -> None:
    texts = [f.summary for f in with_gpu(looked(root), "gfx90a").findings if f.rule == "gpu-tool-unsupported"]
    assert texts == ["hipify-clang of ROCm 6.0.2 reads CUDA up to 12.2, but CUDA 12.4.131 is installed."]
