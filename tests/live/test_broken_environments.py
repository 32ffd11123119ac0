"""Environments that are broken on purpose, with real packages, for the labels that wheels alone don't reach.

Each is named, and its mended twin is not. Where a fault shows only when something runs, that something is run: the real
compiler, the real interpreter, the real loader; what they print is then judged as a pasted text.

Run by hand: `DOCTOR_WHEELS=FOLDER DOCTOR_DEBS=FOLDER python -m pytest -m slow tests/live/test_broken_environments.py`,
with an APT_CONFIG that has Debian trixie, experimental and non-free. Some 2.5 GB are downloaded where the folders are
empty. docs/slow-tier.md logs it, and says which labels can't be shown.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from doctor.engine.judge import judge
from doctor.engine.run import Options, examine
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.system.live import LiveSystem
from doctor.triage.read import read_text
from tests.live import debian
from tests.live.test_real_wheels import TORCH, checked, named, with_gpu
from tests.live.wheels import Wheels

pytestmark = [pytest.mark.slow, debian.needs_apt]
HIP_5_7 = "libamdhip64-5=5.7.1-6+deb13u1"


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


def in_text(text: str) -> Report:
    """What `doctor triage` makes of a pasted text."""
    return judge(read_text([text.encode()]), Knowledge())


def ran(*argv: object, environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> tuple[int, str]:
    """Exit status and output, as somebody would paste it with the command."""
    words = [str(a) for a in argv]
    done = subprocess.run(
        words, env={"PATH": "/usr/bin:/bin", **(environ or {})}, cwd=cwd, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    return done.returncode, f"$ {' '.join(words)}\n{done.stdout}{done.stderr}"


# On live facts


def test_torch_for_the_cpu_on_a_machine_with_a_gpu(wheels: Wheels, tmp_path: Path) -> None:
    cpu = checked(wheels.environment(tmp_path / "cpu", ["torch==2.13.0+cpu"], "3.11.7"))
    assert "torch-cpu-only-build" in named(with_gpu(cpu, "sm_90"))
    gpu = checked(wheels.environment(tmp_path / "gpu", [TORCH]))
    assert "torch-cpu-only-build" not in named(with_gpu(gpu, "sm_90"))


def test_torch_for_cuda_on_a_machine_with_amd_s_gpu(wheels: Wheels, tmp_path: Path) -> None:
    report = checked(wheels.environment(tmp_path / "env", [TORCH]))
    assert "torch-built-for-other-vendor" in named(with_gpu(report, "gfx942"))
    assert "torch-built-for-other-vendor" not in named(with_gpu(report, "sm_90"))


def test_an_nccl_with_a_known_fault(wheels: Wheels, tmp_path: Path) -> None:
    bad = checked(wheels.environment(tmp_path / "bad", ["nvidia-nccl-cu12==2.21.5"], "3.11.7"))
    assert "known-bad-library-version" in named(with_gpu(bad, "sm_90"))
    good = checked(wheels.environment(tmp_path / "good", ["nvidia-nccl-cu12==2.32.3"], "3.11.7"))
    assert "known-bad-library-version" not in named(with_gpu(good, "sm_90"))


def test_a_rocm_path_that_leads_to_no_rocm(tmp_path: Path) -> None:
    root = debian.install(tmp_path / "root", HIP_5_7)
    for value, broken in (("/opt/rocm-5.4.3", True), ("/usr", False)):
        report = examine(debian.Rooted(root, {"ROCM_PATH": value, "PATH": "/usr/bin"}), Options())
        assert ("rocm-path-broken" in named(report)) is broken


@pytest.mark.parametrize(("release", "broken"), [("7.0.2", True), ("5.7.0", False)])
def test_an_amdsmi_of_another_rocm(release: str, broken: bool, wheels: Wheels, tmp_path: Path) -> None:
    root = debian.install(tmp_path / "root", HIP_5_7)
    wheels.environment(root / "env", [f"amdsmi=={release}"], "3.11.7")
    report = examine(debian.Rooted(root, {"PATH": "/usr/bin"}), Options(python="/env"))
    assert ("amdsmi-mismatch" in named(report)) is broken


@pytest.mark.parametrize(("release", "broken"), [("11.8", True), ("12.4", False)])
def test_deepspeed_with_a_toolkit_of_another_cuda(release: str, broken: bool, wheels: Wheels, tmp_path: Path) -> None:
    packages = {
        "11.8": ("nvidia-cuda-toolkit=11.8.89~11.8.0-5~deb12u1", "libcudart11.0=11.8.89~11.8.0-5~deb12u1"),
        "12.4": ("nvidia-cuda-toolkit=12.4.131~12.4.1-2", "libcudart12=12.4.127~12.4.1-2"),
    }
    root = debian.install(tmp_path / "root", *packages[release])
    wheels.environment(root / "env", [TORCH])
    site = root / "env/lib/python3.10/site-packages"
    about = site / "deepspeed-0.14.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_bytes(metadata_of_sdist("deepspeed==0.14.5", tmp_path))
    report = examine(debian.Rooted(root, {"PATH": "/usr/bin"}), Options(python="/env"))
    assert ("toolkit-torch-mismatch" in named(report)) is broken


def metadata_of_sdist(requirement: str, folder: Path) -> bytes:
    """DeepSpeed is published as source alone; installed, its PKG-INFO is its METADATA."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:", "-d", str(folder)]
    subprocess.run([*pip, requirement], check=True, capture_output=True, timeout=600)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = opened.extractfile(f"{archive.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert held
        return held.read()


@pytest.mark.parametrize("user_s", ["1.26.4", "2.2.6"])
def test_packages_of_the_user_s_own_folder(user_s: str, wheels: Wheels, tmp_path: Path) -> None:
    """An interpreter that is no virtual environment takes the user's copy first, as Python itself says."""
    python = Path(os.path.realpath(sys.executable)).parent.parent
    prefix = tmp_path / "python"
    subprocess.run(["cp", "-al", "--", python, prefix], check=True, timeout=300)
    for folder in prefix.glob("lib/python3.*/site-packages"):
        shutil.rmtree(folder)  # names of hard links, not the files of the other prefix
    home = tmp_path / "home"
    series = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for place, version in ((prefix, "2.2.6"), (home / ".local", user_s)):
        site = place / "lib" / series / "site-packages"
        site.mkdir(parents=True)
        with zipfile.ZipFile(wheels.get(f"numpy=={version}", series.removeprefix("python"))) as wheel:
            wheel.extractall(site)
    environ = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": str(home)}
    exe = next(p for p in sorted((prefix / "bin").glob(f"{series}*")) if p.name == series)
    _, told = ran(exe, "-c", "import numpy; print(numpy.__version__)", environ=environ)
    assert told.splitlines()[-1] == user_s
    report = examine(LiveSystem(environ=environ), Options(python=str(exe)))
    assert ("python-user-site-leak" in named(report)) is (user_s != "2.2.6")
    without = examine(LiveSystem(environ={**environ, "PYTHONNOUSERSITE": "1"}), Options(python=str(exe)))
    assert "python-user-site-leak" not in named(without)


def lacks(library: Path, folders: str) -> set[str]:
    """What the real loader finds nowhere for a file."""
    _, text = ran("ldd", library, environ={"LD_LIBRARY_PATH": folders} if folders else {})
    return {line.split()[0] for line in text.splitlines() if line.endswith("=> not found")}


def test_gpu_libraries_that_are_nowhere(wheels: Wheels, tmp_path: Path) -> None:
    """CuPy for ROCm 7 without ROCm, and with Debian's HIP and rocFFT of 7.2 on LD_LIBRARY_PATH."""
    python = wheels.environment(tmp_path / "env", ["cupy-rocm-7-0==14.2.0"], "3.11.7")
    (driver,) = (tmp_path / "env").rglob("cupy_backends/cuda/api/driver.*.so")
    broken = checked(python)
    assert {row.name for row in broken.snapshot.plugin_libraries or ()} == lacks(driver, "")
    assert "gpu-libs-not-found" in named(broken)
    root = debian.unpack(tmp_path / "rocm", "libamdhip64-7/experimental", "librocfft0/experimental",
                         "libhsa-runtime64-1/experimental", "libamd-comgr3/experimental")  # fmt: skip
    folder = str(root / "usr/lib/x86_64-linux-gnu")
    mended = checked(python, LD_LIBRARY_PATH=folder)
    assert not [
        row for row in mended.snapshot.plugin_libraries or () if row.name in ("libamdhip64.so.7", "librocfft.so.0")
    ]
    assert not {"libamdhip64.so.7", "librocfft.so.0"} & lacks(driver, folder)
    assert "libamdhip64.so.7" not in {f.subject.id for f in mended.findings}


def test_onnx_runtime_without_its_cuda_and_with_it(wheels: Wheels, tmp_path: Path) -> None:
    """What its provider needs, by the real loader; with the wheels' folders on LD_LIBRARY_PATH nothing lacks."""
    names = ("nvidia-cublas-cu12==12.9.3.13", "nvidia-cudnn-cu12==9.1.0.70", "nvidia-cuda-runtime-cu12==12.9.79",
             "nvidia-cufft-cu12==11.3.3.83", "nvidia-curand-cu12==10.3.9.90")  # fmt: skip
    alone = wheels.environment(tmp_path / "alone", ["onnxruntime-gpu==1.23.2"], "3.11.7")
    report = checked(alone)
    (provider,) = (tmp_path / "alone").rglob("libonnxruntime_providers_cuda.so")
    assert {row.name for row in report.snapshot.plugin_libraries or ()} == lacks(provider, "")
    assert named(report, "gpu-libs-not-found", "onnxruntime-gpu-mismatch")
    together = wheels.environment(tmp_path / "both", ["onnxruntime-gpu==1.23.2", *names], "3.11.7")
    rows = checked(together).snapshot.plugin_libraries or ()
    assert rows
    assert all(row.in_package for row in rows), "the loader does not look in the packages by itself"
    folders = ":".join(sorted({str(Path(row.in_package or "").parent) for row in rows}))
    mended = checked(together, LD_LIBRARY_PATH=folders)
    (provider,) = (tmp_path / "both").rglob("libonnxruntime_providers_cuda.so")
    assert lacks(provider, folders) == set()
    assert mended.snapshot.plugin_libraries == ()
    assert named(mended, "gpu-libs-not-found", "onnxruntime-gpu-mismatch") == set()


def test_a_library_of_the_system_that_is_missing(wheels: Wheels, tmp_path: Path) -> None:
    """JAX's plugin for ROCm 6 on a small Debian: libnuma1 is not part of it."""
    base = ("python3.11-minimal/bookworm", "libc6/bookworm", "zlib1g/bookworm", "libexpat1/bookworm",
            "libstdc++6/bookworm", "libgcc-s1/bookworm")  # fmt: skip
    for more, broken in (((), True), (("libnuma1/bookworm",), False)):
        root = debian.install(tmp_path / f"root{broken}", *base, *more)
        wheels.environment(root / "env", ["jax-rocm60-pjrt==0.5.0"], "3.11.7")
        (root / "env/bin/python3").unlink()
        (root / "env/bin/python3").symlink_to("/usr/bin/python3.11")
        report = examine(debian.Rooted(root, {"PATH": "/usr/bin"}), Options(python="/env"))
        missing = {f.subject.id for f in report.findings if f.rule == "system-library-missing"}
        assert missing == ({"libnuma.so.1"} if broken else set())


# What programs print, as a pasted text


def test_nvcc_with_a_gcc_that_it_refuses(wheels: Wheels, tmp_path: Path) -> None:
    """CUDA 11.8 takes gcc 11 at most, 12.4 takes 13: with this machine's gcc, if it is 12 or 13."""
    source = tmp_path / "kernel.cu"
    source.write_text("__global__ void fill(float *x) { x[threadIdx.x] = 1.0f; }\n")
    outcomes = {}
    for release, tools, headers in (
        ("11.8", "nvidia-cuda-toolkit=11.8.89~11.8.0-5~deb12u1",
         ("nvidia-cuda-runtime-cu11==11.8.89", "nvidia-cuda-nvcc-cu11==11.8.89")),
        ("12.4", "nvidia-cuda-toolkit=12.4.131~12.4.1-2",
         ("nvidia-cuda-runtime-cu12==12.4.127", "nvidia-cuda-nvcc-cu12==12.4.131")),
    ):  # fmt: skip
        root = debian.unpack(tmp_path / release, tools)
        for wheel in headers:
            with zipfile.ZipFile(wheels.get(wheel, "3.11")) as content:
                content.extractall(root / "wheels")
        folders = [f"-I{p}" for p in sorted((root / "wheels/nvidia").glob("*/include"))]
        own = root / "usr/lib/nvidia-cuda-toolkit"
        toolkit = root / "toolkit"
        (toolkit / "bin").mkdir(parents=True)
        (toolkit / "nvvm/bin").mkdir(parents=True)
        for place in ("nvvm/bin", "bin"):
            shutil.copy(own / "bin/cicc", toolkit / place / "cicc")
        shutil.copytree(own / "libdevice", toolkit / "nvvm/libdevice")
        profile = "TOP = $(_HERE_)/..\nCICC_PATH = $(TOP)/nvvm/bin\nNVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice\n"
        (toolkit / "bin/nvcc.profile").write_text(profile)
        for name in ("nvcc", "ptxas", "fatbinary", "cudafe++", "nvlink", "bin2c"):
            found = next(p for p in (root / "usr/lib/nvidia-cuda-toolkit/bin" / name, root / "usr/bin" / name)
                         if p.is_file() and not p.is_symlink())  # fmt: skip
            shutil.copy(found, toolkit / "bin" / name)
        outcomes[release] = ran(
            toolkit / "bin/nvcc",
            "-ccbin",
            "g++",
            *folders,
            "-c",
            source,
            "-o",
            tmp_path / "k.o",
            environ={"PATH": f"{toolkit}/bin:/usr/bin:/bin"},
        )
    if "unsupported GNU version" not in outcomes["11.8"][1]:
        pytest.skip(f"this machine's gcc is none that CUDA 11.8 refuses: {outcomes['11.8'][1][-300:]}")
    assert "host-compiler-unsupported" in named(in_text(outcomes["11.8"][1]))
    assert outcomes["12.4"][0] == 0, outcomes["12.4"][1]
    assert "host-compiler-unsupported" not in named(in_text(outcomes["12.4"][1]))


def test_clang_that_takes_a_gcc_without_its_headers(tmp_path: Path) -> None:
    """On Debian's libraries of gcc 12 and the runtime of gcc 13: the real clang, and the files that it goes by."""
    source = tmp_path / "program.cpp"
    source.write_text("#include <cmath>\nint main() { return std::isnan(0.0) ? 1 : 0; }\n")
    tools = debian.unpack(tmp_path / "clang", "clang-19=1:19.1.7-3~deb12u1", "libclang-cpp19=1:19.1.7-3~deb12u1",
                          "libllvm19=1:19.1.7-3~deb12u1", "libclang-common-19-dev=1:19.1.7-3~deb12u1")  # fmt: skip
    libraries = f"{tools}/usr/lib/llvm-19/lib:{tools}/usr/lib/x86_64-linux-gnu"
    for more, broken in (((), True), (("libstdc++-13-dev=13.3.0-16",), False)):
        root = debian.install(tmp_path / f"root{broken}", "libgcc-12-dev/bookworm", "libstdc++-12-dev/bookworm",
                              "libgcc-13-dev=13.3.0-16", "libc6-dev/bookworm", "linux-libc-dev/bookworm",
                              "hipcc=5.7.1-6+deb13u1", *more)  # fmt: skip
        status, text = ran(tools / "usr/lib/llvm-19/bin/clang++", f"--sysroot={root}", "-fsyntax-only", source,
                           environ={"LD_LIBRARY_PATH": libraries})  # fmt: skip
        assert (status != 0) is broken, text
        assert ("host-libstdcxx-dev-missing" in named(in_text(text))) is broken
        report = examine(debian.Rooted(root, {"PATH": "/usr/bin"}), Options())
        assert ("host-libstdcxx-dev-missing" in named(report)) is broken


@pytest.mark.parametrize(("release", "broken"), [("7.0.2", True), ("6.1.2", False)])
def test_amdsmi_with_the_library_of_another_release(release: str, broken: bool, wheels: Wheels, tmp_path: Path) -> None:
    """The package 7.0.2 wants functions that Debian's libamd_smi of ROCm 6.1.2 has not; its own package loads."""
    suite = ("libc6", "libstdc++6", "libgcc-s1", "zlib1g", "libexpat1", "libffi8", "python3.13-minimal", "libdrm2",
             "libpython3.13-minimal", "libpython3.13-stdlib", "libdrm-amdgpu1", "libamd-smi0")  # fmt: skip
    root = debian.install(tmp_path / "root", *(f"{name}/trixie" for name in suite))
    library = root / "usr/lib/x86_64-linux-gnu/libamd_smi.so.0"
    (root / "opt/rocm/lib").mkdir(parents=True)
    shutil.copy(library.resolve(), root / "opt/rocm/lib/libamd_smi.so")
    with zipfile.ZipFile(wheels.get(f"amdsmi=={release}", "3.11")) as wheel:
        wheel.extractall(root / "packages")
    status, text = ran(shutil.which("chroot") or "chroot", root, "/usr/bin/python3.13", "-c", "import amdsmi",
                       environ={"PYTHONPATH": "/packages", "ROCM_PATH": "/opt/rocm"})  # fmt: skip
    assert (status != 0) is broken, text
    assert ("amdsmi-mismatch" in named(in_text(text))) is broken
