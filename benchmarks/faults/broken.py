"""Environments of Python in which one thing is wrong: the cause, and the rules that name it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.faults.environments import Environment


@dataclass(frozen=True)
class Case:
    """`rules`: any of these names the cause; () where nothing is wrong. `words`: what another tool must print to have
    named it (any of them)."""

    name: str
    kind: str
    base: str
    make: Callable[[Environment], None]
    rules: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


DAMAGED = ("python-install-damaged",)
_WHEEL = DAMAGED[0]


def _deleted(name: str, *patterns: str, words: tuple[str, ...], rules: tuple[str, ...] = ()) -> Case:
    return Case(name, "files", "cuda", lambda env: env.delete(*patterns), (_WHEEL, *rules), words)


def _cut(name: str, pattern: str, size: int, words: tuple[str, ...]) -> Case:
    return Case(name, "files", "cuda", lambda env: env.cut(pattern, size), DAMAGED, words)


def _emptied(env: Environment) -> None:
    env.delete("torch")
    (env.site / "torch").mkdir()


def _other_python(env: Environment) -> None:
    """The packages of this Python in an environment of another, as a COPY between two images does."""
    this = f"python3.{sys.version_info.minor}"
    other = f"python3.{sys.version_info.minor + 1}"
    (env.prefix / "lib" / this).rename(env.prefix / "lib" / other)
    config = env.prefix / "pyvenv.cfg"
    text = config.read_text()
    config.unlink()
    config.write_text(text.replace(f"3.{sys.version_info.minor}.", f"3.{sys.version_info.minor + 1}."))
    link = env.prefix / "bin" / other
    link.symlink_to(shutil.which(other) or f"/usr/local/bin/{other}")
    for name in ("python", "python3"):
        (env.prefix / "bin" / name).unlink()
        (env.prefix / "bin" / name).symlink_to(other)


def _torch_on_path(env: Environment) -> None:
    source = env.folder("source")
    (source / "torch").mkdir()
    (source / "torch/__init__.py").write_text("from torch._C import *\n")
    env.environ["PYTHONPATH"] = str(source)


def _script_on_path(env: Environment) -> None:
    (env.folder("scripts") / "torch.py").write_text("print('my notes on torch')\n")
    env.environ["PYTHONPATH"] = str(env.folder("scripts"))


def _checkout_in_cwd(env: Environment) -> None:
    env.cwd = env.folder("checkout")
    (env.cwd / "torch").mkdir()
    (env.cwd / "torch/__init__.py").write_text("from torch._C import *\n")


def _numpy_script_in_cwd(env: Environment) -> None:
    env.cwd = env.folder("scripts")
    (env.cwd / "numpy.py").write_text("x = 1\n")


def _bitsandbytes_without_cuda(env: Environment) -> None:
    env.install("bitsandbytes==0.48.2")
    env.delete("bitsandbytes/libbitsandbytes_cuda12*.so")
    record = next(env.site.glob("bitsandbytes-*.dist-info/RECORD"))
    rows = [row for row in record.read_text().splitlines() if "_cuda12" not in row]
    record.unlink()
    record.write_text("\n".join(rows) + "\n")


def _dangling(env: Environment) -> None:
    for name in ("python", "python3", f"python3.{sys.version_info.minor}"):
        (env.prefix / "bin" / name).unlink(missing_ok=True)
        (env.prefix / "bin" / name).symlink_to("/usr/local/bin/python3.99")


def _gone(env: Environment) -> None:
    env.environ["VIRTUAL_ENV"] = f"{env.prefix}.gone"


def _stub(env: Environment) -> None:
    folder = env.folder("cuda-13.0") / "lib64/stubs"
    env.library(folder / "libcuda.so", "libcuda.so.1")
    (folder / "libcuda.so.1").symlink_to("libcuda.so")
    env.environ["LD_LIBRARY_PATH"] = str(folder)


def _preloaded(env: Environment) -> None:
    held = env.unpacked("nvidia-cuda-runtime-cu12==12.1.105", "other")
    env.environ["LD_PRELOAD"] = str(held / "nvidia/cuda_runtime/lib/libcudart.so.12")


def _older_by_variable(env: Environment) -> None:
    held = env.unpacked("nvidia-nvjitlink-cu12==12.1.105", "other")
    env.environ["LD_LIBRARY_PATH"] = str(held / "nvidia/nvjitlink/lib")


def _scipy(env: Environment) -> None:
    env.install("scipy==1.10.1")


def _installed(*requirements: str) -> Callable[[Environment], None]:
    return lambda env: env.install(*requirements)


def _removed(package: str) -> Callable[[Environment], None]:
    return lambda env: env.pip("uninstall", "-y", package)


def _mixed_users(env: Environment) -> None:
    """A torch folder of ~/.local that an interrupted uninstall left behind, seen through PYTHONPATH."""
    left = env.folder("left") / "site-packages"
    (left / "torch/lib").mkdir(parents=True)
    (left / "torch/__init__.py").write_text("")
    env.environ["PYTHONPATH"] = str(left)


_LIBS = ("gpu-libs-not-found", _WHEEL)
CASES: tuple[Case, ...] = (
    _deleted("libc10_cuda deleted", "torch/lib/libc10_cuda.so", words=("libc10_cuda",)),
    _deleted("libtorch_global_deps deleted", "torch/lib/libtorch_global_deps.so", words=("libtorch_global_deps",)),
    _deleted("torch's _C deleted", "torch/_C.cpython*.so", words=("torch._C", "_C.")),
    _deleted("torch/version.py deleted", "torch/version.py", words=("torch.version", "torch_version", "version.py")),
    _deleted("torch/cuda/__init__ deleted", "torch/cuda/__init__.py", words=("torch.cuda",)),
    _deleted("libcaffe2_nvrtc deleted", "torch/lib/libcaffe2_nvrtc.so", words=("caffe2_nvrtc",)),
    _deleted("libtorch_cuda_linalg deleted", "torch/lib/libtorch_cuda_linalg.so", words=("cuda_linalg",)),
    _deleted("cuDNN engine deleted", "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", words=("libcudnn_engines",)),
    _deleted("cuDNN deleted", "nvidia/cudnn/lib/libcudnn.so.9", words=("libcudnn.so.9",), rules=_LIBS),
    _deleted("cuBLASLt deleted", "nvidia/cublas/lib/libcublasLt.so.12", words=("libcublasLt",), rules=_LIBS),
    _deleted("NCCL deleted", "nvidia/nccl/lib/libnccl.so.2", words=("libnccl",), rules=_LIBS),
    _deleted("nvrtc's builtins deleted", "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8", words=("nvrtc-builtins",)),
    _deleted("numpy's core deleted", "numpy/_core/_multiarray_umath*.so", words=("_multiarray_umath",)),
    _deleted("triton's library deleted", "triton/_C/libtriton.so", words=("libtriton",)),
    _deleted("half of torch/nn deleted", "torch/nn/modules/[a-l]*.py", words=("torch.nn",)),
    _cut("libtorch_cuda cut to 50 MB", "torch/lib/libtorch_cuda.so", 50_000_000, ("libtorch_cuda",)),
    _cut("libtorch_cpu empty", "torch/lib/libtorch_cpu.so", 0, ("libtorch_cpu",)),
    _cut("libnccl cut", "nvidia/nccl/lib/libnccl.so.2", 10_000_000, ("libnccl",)),
    _cut("libnvrtc cut", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", 1_000_000, ("libnvrtc",)),
    _cut("libtriton cut", "triton/_C/libtriton.so", 1_000_000, ("libtriton",)),
    _cut("torch/__init__ empty", "torch/__init__.py", 0, ("torch/__init__",)),
    Case("torch emptied", "files", "cuda", _emptied, (_WHEEL, "torch-cpu-only-build"), ("torch",)),
    Case("packages of another Python", "interpreter", "cuda", _other_python, DAMAGED, ("python3.1", "cpython")),
    Case("the environment's Python is gone", "interpreter", "bare", _dangling, DAMAGED, ("python3.99",)),
    Case("VIRTUAL_ENV leads nowhere", "interpreter", "bare", _gone, DAMAGED, ("VIRTUAL_ENV",)),
    Case("a torch folder on PYTHONPATH", "shadowed", "cuda", _torch_on_path, DAMAGED, ("source/torch",)),
    Case("torch.py on PYTHONPATH", "shadowed", "cuda", _script_on_path, DAMAGED, ("torch.py",)),
    Case("torch's sources in the working directory", "shadowed", "cuda", _checkout_in_cwd, DAMAGED,
         ("checkout/torch",)),
    Case("numpy.py in the working directory", "shadowed", "cuda", _numpy_script_in_cwd, DAMAGED, ("numpy.py",)),
    Case("a torch that was left behind on PYTHONPATH", "shadowed", "cuda", _mixed_users, DAMAGED, ("left/",)),
    Case("a stub of libcuda on LD_LIBRARY_PATH", "loader", "cuda", _stub, ("gpu-libs-conflict",), ("stub",)),
    Case("an older libcudart by LD_PRELOAD", "loader", "cuda", _preloaded, ("gpu-libs-conflict",), ("LD_PRELOAD",)),
    Case("an older nvJitLink by LD_LIBRARY_PATH", "loader", "cuda", _older_by_variable, ("gpu-libs-conflict",),
         ("nvJitLink", "nvjitlink")),
    Case("cuBLAS not installed", "packages", "cuda", _removed("nvidia-cublas-cu12"), _LIBS, ("cublas",)),
    Case("cuDNN not installed", "packages", "cuda", _removed("nvidia-cudnn-cu12"), _LIBS, ("cudnn",)),
    Case("NCCL not installed", "packages", "cuda", _removed("nvidia-nccl-cu12"), _LIBS, ("nccl",)),
    Case("cuSPARSELt not installed", "packages", "cuda", _removed("nvidia-cusparselt-cu12"), _LIBS, ("cusparselt",)),
    Case("nvJitLink of CUDA 12.1", "packages", "cuda", _installed("nvidia-nvjitlink-cu12==12.1.105"),
         ("gpu-libs-conflict", "torch-companion-mismatch", "toolkit-torch-mismatch", "gpu-libs-not-found"),
         ("nvidia-nvjitlink", "nvJitLink")),
    Case("triton of another torch", "packages", "cuda", _installed("triton==2.3.1"), ("triton-mismatch",), ("triton",)),
    Case("torchvision of another torch", "packages", "cuda", _installed("torchvision==0.19.1"),
         ("torch-companion-mismatch",), ("torchvision",)),
    Case("torchaudio of another torch", "packages", "cuda", _installed("torchaudio==2.5.1"),
         ("torch-companion-mismatch",), ("torchaudio",)),
    Case("xformers of another torch", "packages", "cuda", _installed("xformers==0.0.28.post3"),
         ("extension-abi-mismatch",), ("xformers",)),
    Case("scipy of NumPy 1 beside NumPy 2", "packages", "cuda", _scipy, ("numpy-abi-mismatch",), ("numpy",)),
    Case("bitsandbytes without a library for CUDA 12", "packages", "cuda", _bitsandbytes_without_cuda,
         ("extension-abi-mismatch", "library-missing-gpu-arch"), ("bitsandbytes",)),
    Case("ONNX Runtime of CUDA 11 beside CUDA 12", "packages", "cuda", _installed("onnxruntime-gpu==1.18.1"),
         ("onnxruntime-gpu-mismatch", "gpu-libs-not-found"), ("onnxruntime",)),
)  # fmt: skip
