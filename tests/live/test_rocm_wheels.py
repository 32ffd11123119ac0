"""Real ROCm wheels of the package index: their GPU targets against LLVM's own tool and against their bytes, the GPUs
that they serve, and what they would lack on this machine by the real loader.

Run by hand: `DOCTOR_WHEELS=FOLDER DOCTOR_DEBS=FOLDER python -m pytest -m slow tests/live/test_rocm_wheels.py`; 1 GB
is downloaded where the folder is empty. docs/slow-tier.md logs it.
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
import zstandard

from doctor.parsers.elf import gpu_code
from tests.live import debian
from tests.live.test_real_wheels import checked, named, with_gpu
from tests.live.wheels import Wheels

pytestmark = pytest.mark.slow
_TARGET = re.compile(rb"hip(?:v4)?-amdgcn-amd-amdhsa--(gfx[0-9a-f]{3,5}(?::[a-z]{4,8}[+-]){0,2})")
_ZSTD = b"\x28\xb5\x2f\xfd"
PLAIN = (
    ("jax-rocm60-plugin==0.5.0", "_prng.so"), ("jax-rocm60-pjrt==0.5.0", "xla_rocm_plugin.so"),
    ("onnxruntime-rocm==1.22.2.post3", "libonnxruntime_providers_rocm.so"),
    ("tensorflow-rocm==2.14.0.600", "libtensorflow_framework.so.2"),
    ("cupy-rocm-7-0==14.2.0", "thrust.cpython-311-x86_64-linux-gnu.so"),
    ("cyllama-rocm==0.2.18", "libggml-hip-f822f971.so"),
)  # fmt: skip
COMPRESSED = (
    ("jax-rocm7-plugin==0.10.2", "_prng.so"), ("jax-rocm7-pjrt==0.10.2", "xla_rocm_plugin.so"),
    ("jax-rocm10-pjrt==0.12.0", "xla_rocm_plugin.so"),
)  # fmt: skip


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wheels]:
    unpacked = tmp_path_factory.mktemp("unpacked")
    yield Wheels(Path(os.environ.get("DOCTOR_WHEELS") or tmp_path_factory.mktemp("wheels")), unpacked)
    shutil.rmtree(unpacked)


@pytest.fixture(autouse=True)
def gone(tmp_path: Path) -> Iterator[None]:
    """Nothing is kept after a test: environments and trees take gigabytes."""
    yield
    shutil.rmtree(tmp_path)


def library(wheels: Wheels, requirement: str, name: str) -> bytes:
    with zipfile.ZipFile(wheels.get(requirement, "3.11")) as wheel:
        (member,) = (n for n in wheel.namelist() if n.endswith(f"/{name}"))
        return wheel.read(member)


@pytest.mark.parametrize(("requirement", "name"), PLAIN)
def test_targets_are_those_that_the_bytes_name(requirement: str, name: str, wheels: Wheels) -> None:
    raw = library(wheels, requirement, name)
    code = gpu_code.read(raw)
    assert set(code.gfx) == {m.decode() for m in _TARGET.findall(raw)}
    assert len(code.gfx) >= 3


@pytest.mark.parametrize(("requirement", "name"), COMPRESSED)
def test_targets_of_compressed_bundles_are_those_of_what_zstd_unpacks(
    requirement: str, name: str, wheels: Wheels
) -> None:
    raw = library(wheels, requirement, name)
    own: set[str] = set()
    start = raw.find(b"CCOB")
    while start >= 0:
        frame = raw.find(_ZSTD, start, start + 64)
        head = zstandard.ZstdDecompressor().decompressobj().decompress(raw[frame : frame + (1 << 20)])
        own |= {m.decode() for m in _TARGET.findall(head[:65536])}
        start = raw.find(b"CCOB", start + 4)
    code = gpu_code.read(raw)
    assert set(code.gfx) == own
    assert code.compressed == ("zstd v3",)


@debian.needs_apt
def test_llvm_s_own_tool_lists_the_same_targets(wheels: Wheels, tmp_path: Path) -> None:
    """clang-offload-bundler of LLVM 19, which reads plain bundles and the older compressed ones."""
    tools = debian.unpack(tmp_path / "llvm", "clang-tools-19=1:19.1.7-3~deb12u1", "libllvm19=1:19.1.7-3~deb12u1",
                          "libclang-cpp19=1:19.1.7-3~deb12u1")  # fmt: skip
    folders = f"{tools}/usr/lib/llvm-19/lib:{tools}/usr/lib/x86_64-linux-gnu"
    raw = library(wheels, "jax-rocm60-plugin==0.5.0", "_prng.so")
    bundle = tmp_path / "bundle.hipfb"
    bundle.write_bytes(raw[raw.find(b"__CLANG_OFFLOAD_BUNDLE__") :])
    told = subprocess.run(
        [tools / "usr/lib/llvm-19/bin/clang-offload-bundler", "--list", "--type=o", f"--input={bundle}"],
        env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": folders}, check=True, capture_output=True, text=True,
        timeout=120,
    ).stdout  # fmt: skip
    listed = set(re.findall(r"--(gfx\w+)", told))
    assert set(gpu_code.read(raw).gfx) == listed
    assert len(listed) == 11


@pytest.mark.parametrize(
    ("requirement", "bad", "good"),
    [
        ("onnxruntime-rocm==1.22.2.post3", "gfx1103", "gfx1100"),
        ("jax-rocm60-pjrt==0.5.0", "gfx950", "gfx942"),
        ("jax-rocm7-pjrt==0.10.2", "gfx803", "gfx950"),
        ("tensorflow-rocm==2.14.0.600", "gfx942", "gfx90a"),
        ("cupy-rocm-7-0==14.2.0", "gfx906", "gfx1030"),
        ("cyllama-rocm==0.2.18", "gfx1030", "gfx1100"),
        ("aphrodite-flash-attn==2.6.1.post2", "sm_75", "sm_89"),
        ("dew-flash-attn-cu12==0.3.6", "sm_75", "sm_86"),
    ],
)
def test_gpus_that_the_code_does_and_does_not_run_on(
    requirement: str, bad: str, good: str, wheels: Wheels, tmp_path: Path
) -> None:
    report = checked(wheels.environment(tmp_path / "env", [requirement], "3.11.7"))
    assert named(with_gpu(report, bad), "library-missing-gpu-arch")
    assert not named(with_gpu(report, good), "library-missing-gpu-arch")


@pytest.mark.parametrize(
    ("requirement", "file"),
    [
        ("onnxruntime-rocm==1.22.2.post3", "libonnxruntime_providers_rocm.so"),
        ("onnxruntime-migraphx==1.27.1", "libonnxruntime_providers_migraphx.so"),
        ("jax-rocm60-pjrt==0.5.0", "xla_rocm_plugin.so"),
        ("jax-rocm7-pjrt==0.10.2", "xla_rocm_plugin.so"),
        ("tensorflow-rocm==2.14.0.600", "libtensorflow_cc.so.2"),
    ],
)
def test_what_a_plugin_would_lack_here_is_what_the_real_loader_lacks(
    requirement: str, file: str, wheels: Wheels, tmp_path: Path
) -> None:
    report = checked(wheels.environment(tmp_path / "env", [requirement], "3.11.7"))
    (path,) = (tmp_path / "env").rglob(file)
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False, timeout=120).stdout
    lacking = {line.split()[0] for line in listed.splitlines() if line.endswith("=> not found")}
    assert {row.name for row in report.snapshot.plugin_libraries or ()} == lacking
    assert lacking
