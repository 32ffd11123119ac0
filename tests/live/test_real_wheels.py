"""Real wheels: what their files tell against what is known of them, and environments that are broken on purpose.

Run by hand: `DOCTOR_WHEELS=FOLDER python -m pytest -m slow tests/live/test_real_wheels.py`; docs/slow-tier.md logs it.
Some 9 GB are downloaded where FOLDER is empty.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doctor.engine.judge import judge
from doctor.engine.run import Options, examine
from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.parsers.elf import gpu_code
from doctor.system.live import LiveSystem
from tests.live.wheels import Wheels

pytestmark = pytest.mark.slow
LIST = re.compile(rb"(?:sm_\d+ )+(?:sm|compute)_\d+(?=\0)")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wheels]:
    unpacked = tmp_path_factory.mktemp("unpacked")
    yield Wheels(Path(os.environ.get("DOCTOR_WHEELS") or tmp_path_factory.mktemp("wheels")), unpacked)
    shutil.rmtree(unpacked)  # gigabytes


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder that is gone after the test: environments take gigabytes."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def checked(python: Path, **environ: str) -> Report:
    system = LiveSystem(environ={"PATH": "/usr/bin:/bin", **environ})
    return examine(system, Options(python=str(python)))


def with_gpu(report: Report, arch: str) -> Report:
    """The same environment on a machine with that GPU."""
    sheet, key = FactSheet(), "0000:01:00.0"
    vendor = "amd" if arch.startswith("gfx") else "nvidia"
    for name, value in {"vendor": vendor, "arch": arch, "name": "a GPU"}.items():
        sheet.put(f"gpus[{key}].{name}", value, "test")
    machine: Snapshot = report.snapshot.model_copy(update={"gpus": assemble([sheet]).gpus})
    return judge(machine, Knowledge())


def named(report: Report, *rules: str) -> set[str]:
    found = {finding.rule for finding in report.findings if not finding.explained_by}
    return found & set(rules) if rules else found


@pytest.mark.parametrize(
    ("release", "others"),
    [
        ("2.1.2", ()),
        ("2.4.1", ()),
        ("2.8.0", ("sm_89", "sm_90a", "sm_100a", "sm_120a")),
        ("2.14.0", ("sm_89", "sm_90a", "sm_100a", "sm_103f", "sm_120a", "sm_121a")),
    ],
)
def test_torchs_architectures_are_its_own_list(
    release: str, others: tuple[str, ...], wheels: Wheels, place: Path
) -> None:
    """Against the text that torch._C._cuda_getArchFlags() returns, found in the library's bytes without any reader."""
    python = wheels.environment(place / "env", [f"torch=={release}"])
    report = checked(python)
    torch = report.snapshot.torch
    library = place / "env/lib/python3.10/site-packages/torch/lib/libtorch_python.so"
    own = max(LIST.findall(library.read_bytes()), key=len).decode().split()
    assert list(torch.arch_list or ()) == own
    assert set(torch.sass or ()) == {*own, *others}
    (cuda,) = (b for b in report.snapshot.binaries or () if b.key.endswith("/libtorch_cuda.so"))
    assert list(cuda.common or ()) == own
    assert sum(group.number for group in cuda.objects or ()) > 250
    assert (torch.cxx11_abi, torch.build) == (release not in ("2.1.2", "2.4.1"), "cuda")


@pytest.mark.parametrize(("kind", "version"), [("rocm64", "zstd v2"), ("rocm70", "zstd v2"), ("rocm72", "zstd v3")])
def test_compressed_bundles_of_bitsandbytes(kind: str, version: str, wheels: Wheels) -> None:
    with zipfile.ZipFile(wheels.get("bitsandbytes==0.50.2")) as wheel:
        code = gpu_code.read(wheel.read(f"bitsandbytes/libbitsandbytes_{kind}.so"))
    assert {"gfx90a", "gfx942", "gfx1100", "gfx1201"} <= set(code.gfx)
    assert ("gfx950" in code.gfx) is (kind != "rocm64")
    assert code.compressed == (version,)


class Broken(NamedTuple):
    """Packages that do not fit, the rule that names it, and what mends it."""

    rule: str
    packages: tuple[str, ...]
    mended: tuple[str, ...]
    python: str = "3.10.12"
    mended_python: str = "3.10.12"


TORCH = "torch==2.4.1"
BROKEN = (
    Broken("torch-companion-mismatch", (TORCH, "torchvision==0.23.0"), (TORCH, "torchvision==0.19.1")),
    Broken("torch-companion-mismatch", ("torch==2.8.0", "torchaudio==2.4.1"), (TORCH, "torchaudio==2.4.1")),
    Broken("extension-abi-mismatch", (TORCH, "xformers==0.0.27"), (TORCH, "xformers==0.0.28")),
    Broken("triton-mismatch", (TORCH, "triton==3.1.0"), (TORCH, "triton==3.0.0")),
    Broken("triton-mismatch", (TORCH,), (TORCH, "triton==3.0.0")),
    Broken("vllm-build-mismatch", (TORCH, "vllm==0.10.2"), ("torch==2.8.0", "vllm==0.10.2")),
    Broken("gpu-libs-conflict", (TORCH, "nvidia-cudnn-cu12==8.9.2.26"), (TORCH, "nvidia-cudnn-cu12==9.1.0.70")),
    Broken("numpy-abi-mismatch", ("tensorflow==2.17.0", "numpy==2.2.6"), ("tensorflow==2.17.0", "numpy==1.26.4")),
    Broken("tensorflow-gpu-mismatch", ("tensorflow==2.17.0", "nvidia-cudnn-cu12==9.1.0.70"),
           ("tensorflow==2.17.0", "nvidia-cudnn-cu12==8.9.2.26")),
    Broken("jax-plugin-mismatch", ("jaxlib==0.6.2", "jax-cuda12-plugin==0.6.2", "jax-cuda12-pjrt==0.6.1"),
           ("jaxlib==0.6.2", "jax-cuda12-plugin==0.6.2", "jax-cuda12-pjrt==0.6.2")),
    Broken("companion-kernel-lib-outdated", ("about:vllm==0.33.0", "flashinfer-python==0.6.14"),
           ("about:vllm==0.33.0", "flashinfer-python==0.7.2.post1"), "3.12.3", "3.12.3"),
    Broken("python-version-unsupported", ("about:vllm==0.33.0",), ("about:vllm==0.33.0",), "3.10.12", "3.12.3"),
    Broken("onnxruntime-gpu-mismatch", ("onnxruntime==1.23.2", "onnxruntime-gpu==1.31.1"),
           ("onnxruntime-gpu==1.31.1",), "3.11.7", "3.11.7"),
)  # fmt: skip


@pytest.mark.parametrize("case", BROKEN, ids=[f"{b.rule}:{b.packages[-1]}" for b in BROKEN])
def test_an_environment_broken_on_purpose_is_named_and_its_twin_is_clean(
    case: Broken, wheels: Wheels, place: Path
) -> None:
    broken = checked(wheels.environment(place / "broken", case.packages, case.python))
    assert case.rule in named(broken)
    shutil.rmtree(place / "broken")
    mended = checked(wheels.environment(place / "mended", case.mended, case.mended_python))
    assert case.rule not in named(mended)


@pytest.mark.parametrize(
    ("rule", "packages", "bad", "good"),
    [
        ("torch-missing-gpu-arch", ("torch==2.8.0",), "sm_61", "sm_86"),
        ("torch-missing-gpu-arch", ("torch==2.14.0",), "sm_70", "sm_121"),
        ("torch-missing-gpu-arch", (TORCH,), "sm_120", "sm_89"),
        ("library-missing-gpu-arch", (TORCH, "xformers==0.0.28"), "sm_53", "sm_120"),
        ("library-missing-gpu-arch", ("torch==2.8.0", "vllm==0.10.2"), "sm_61", "sm_89"),
        ("library-missing-gpu-arch", ("jax-cuda12-plugin==0.6.2", "jax-cuda12-pjrt==0.6.2"), "sm_37", "sm_90"),
    ],
)
def test_gpus_that_the_code_does_and_does_not_run_on(
    rule: str, packages: tuple[str, ...], bad: str, good: str, wheels: Wheels, place: Path
) -> None:
    report = checked(wheels.environment(place / "env", packages))
    assert named(with_gpu(report, bad), rule) == {rule}
    assert named(with_gpu(report, good), rule) == set()


def test_a_library_on_ld_library_path_that_shadows_torchs_own(wheels: Wheels, place: Path) -> None:
    """The classic: CUDA 12.1's nvJitLink wins over the one that cuSPARSE of torch's CUDA was linked for."""
    shadow = place / "shadow"
    shadow.mkdir()
    with zipfile.ZipFile(wheels.get("nvidia-nvjitlink-cu12==12.1.105")) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith("/libnvJitLink.so.12"))
        (shadow / "libnvJitLink.so.12").write_bytes(wheel.read(name))
    packages = (TORCH, "nvidia-cusparse-cu12==12.1.0.106", "nvidia-nvjitlink-cu12==12.9.86")
    python = wheels.environment(place / "env", packages)
    (held,) = _library(checked(python, LD_LIBRARY_PATH=str(shadow)), "libnvJitLink.so.12")
    assert (held["path"], held["by"]) == (f"{shadow}/libnvJitLink.so.12", "LD_LIBRARY_PATH")
    assert held["intended"].endswith("/nvidia/nvjitlink/lib/libnvJitLink.so.12")
    assert "gpu-libs-conflict" in named(checked(python, LD_LIBRARY_PATH=str(shadow)))
    (clean,) = _library(checked(python), "libnvJitLink.so.12")
    assert clean["by"] == "RUNPATH of libcusparse.so.12"
    assert "gpu-libs-conflict" not in named(checked(python))


def _library(report: Report, name: str) -> list[dict[str, Any]]:
    return [held.model_dump() for held in report.snapshot.libraries or () if held.key == name]
