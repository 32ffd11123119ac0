"""More environments in which one thing is wrong: half-done upgrades, files that only look whole, names that shadow."""

from __future__ import annotations

import os
import shutil

from benchmarks.faults.broken import DAMAGED, Case
from benchmarks.faults.environments import Environment

_LIBS = ("gpu-libs-not-found", *DAMAGED)


def _dangling_library(env: Environment) -> None:
    env.delete("torch/lib/libtorch_python.so")
    (env.site / "torch/lib/libtorch_python.so").symlink_to("/mnt/cache/libtorch_python.so")


def _pointer_file(env: Environment) -> None:
    """What a checkout without Git LFS leaves in place of a library."""
    env.write("torch/lib/libtorch_cpu.so", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


def _zeros(env: Environment) -> None:
    """Its size is right: the blocks were never written before a crash."""
    path = env.site / "torch/lib/libtorch_python.so"
    size = path.stat().st_size
    path.unlink()
    path.touch()
    os.truncate(path, size)


def _two_records(env: Environment) -> None:
    """An upgrade that was interrupted: the older release's metadata is there as well, and half of its package."""
    record = next(env.site.glob("numpy-*.dist-info"))
    older = env.site / "numpy-1.26.4.dist-info"
    shutil.copytree(record, older)
    text = (older / "METADATA").read_text()
    (older / "METADATA").write_text(text.replace(record.name.split("-")[1].removesuffix(".dist"), "1.26.4", 1))
    env.delete("numpy/_core/_multiarray_umath*.so")


def _other_tag(env: Environment) -> None:
    path = next(env.site.glob("torch/_C.cpython*.so"))
    path.rename(path.with_name("_C.cpython-39-x86_64-linux-gnu.so"))


def _mixed_numpy(env: Environment) -> None:
    """NumPy 1.26 unpacked over NumPy 2 by hand: its Python files, and libraries of both."""
    held = env.unpacked("numpy==1.26.4", "other")
    for path in (held / "numpy").glob("*.py"):
        target = env.site / "numpy" / path.name
        target.unlink(missing_ok=True)
        shutil.copy(path, target)


def _module_of_python_in_cwd(env: Environment) -> None:
    env.cwd = env.folder("scripts")
    (env.cwd / "random.py").write_text("print(1)\n")


def _typing_on_path(env: Environment) -> None:
    """A copy for Python 2 that an old tool put on PYTHONPATH."""
    (env.folder("old") / "typing_extensions.py").write_text("TypedDict = None\n")
    env.environ["PYTHONPATH"] = str(env.folder("old"))


def _no_config(env: Environment) -> None:
    (env.prefix / "pyvenv.cfg").unlink()


def _old_libstdcxx(env: Environment) -> None:
    folder = env.folder("gcc-4")
    env.library(folder / "libstdc++.so.6", "libstdc++.so.6", "int x;")
    env.environ["LD_LIBRARY_PATH"] = str(folder)


def _preloaded_libstdcxx(env: Environment) -> None:
    library = env.library(env.folder("gcc-4") / "libstdc++.so.6", "libstdc++.so.6", "int x;")
    env.environ["LD_PRELOAD"] = str(library)


def _stub_in_folder(env: Environment) -> None:
    """The stub itself, in a folder whose name does not say so."""
    env.library(env.folder("driver") / "libcuda.so.1", "libcuda.so.1")
    env.environ["LD_LIBRARY_PATH"] = str(env.folder("driver"))


def _stub_of_other_version(env: Environment) -> None:
    folder = env.folder("cuda-13.0") / "stubs"
    env.library(folder / "libcuda.so.1", "libcuda.so.1")
    env.environ["LD_LIBRARY_PATH"] = f"/usr/lib/nothing:{folder}"


def _mixed_cudnn(env: Environment) -> None:
    """One of cuDNN's libraries is of another release: it refuses its siblings."""
    held = env.unpacked("nvidia-cudnn-cu12==9.1.0.70", "other")
    target = env.site / "nvidia/cudnn/lib/libcudnn_graph.so.9"
    target.unlink()
    shutil.copy(held / "nvidia/cudnn/lib/libcudnn_graph.so.9", target)


def _without_metadata(env: Environment) -> None:
    env.delete("torch-*.dist-info")
    env.install("accelerate==1.10.1")


def _half_of_sympy(env: Environment) -> None:
    """A folder of the project's own, called like a package that torch imports."""
    (env.folder("project") / "sympy").mkdir()
    (env.folder("project") / "sympy/__init__.py").write_text("VERSION = 1\n")
    env.environ["PYTHONPATH"] = str(env.folder("project"))


def _preloaded_libgomp(env: Environment) -> None:
    env.environ["LD_PRELOAD"] = str(env.library(env.folder("old") / "libgomp.so.1", "libgomp.so.1", "int x;"))


def _another_libtorch_cuda(env: Environment) -> None:
    path = env.site / "torch/lib/libtorch_cuda.so"
    path.unlink()
    env.library(path, "libtorch_cuda.so", "int x;")


def _not_executable(env: Environment) -> None:
    for name in ("python", "python3", env.site.parent.name):
        path = env.prefix / "bin" / name
        real = path.resolve()
        path.unlink(missing_ok=True)
        shutil.copy(real, path)
        path.chmod(0o644)


def _case(name: str, kind: str, base: str, make: object, rules: tuple[str, ...], *words: str) -> Case:
    return Case(name, kind, base, make, rules, words)  # type: ignore[arg-type]


def _without(name: str, base: str, *patterns: str, rules: tuple[str, ...] = DAMAGED) -> Case:
    return Case(f"{name} deleted", "files", base, lambda env: env.delete(*patterns), rules, (name,))


def _uninstalled(package: str, base: str, rules: tuple[str, ...]) -> Case:
    return Case(f"{package} not installed", "packages", base, lambda env: env.pip("uninstall", "-y", package), rules,
                (package,))  # fmt: skip


def _older(requirement: str, rules: tuple[str, ...]) -> Case:
    package = requirement.partition("==")[0]
    return Case(f"an older {package}", "packages", "cuda", lambda env: env.install(requirement), rules, (package,))


CASES: tuple[Case, ...] = (
    _without("libc10", "cpu", "torch/lib/libc10.so"),
    _without("libgomp", "cpu", "torch/lib/libgomp*"),
    _without("numpy.libs", "cpu", "numpy.libs"),
    _without("torch/nn/__init__", "cpu", "torch/nn/__init__.py"),
    _without("torch/_C/__init__ and version", "cpu", "torch/torch_version.py"),
    _case("a library of torch is a link that leads nowhere", "files", "cpu", _dangling_library, DAMAGED,
          "libtorch_python"),
    _case("a library of torch is a pointer of Git LFS", "files", "cpu", _pointer_file, DAMAGED, "libtorch_cpu"),
    _case("a library of torch is all zeros", "files", "cpu", _zeros, DAMAGED, "libtorch_python"),
    _case("NumPy between two releases", "files", "cpu", _two_records, DAMAGED, "numpy"),
    _case("NumPy 1 unpacked over NumPy 2", "files", "cpu", _mixed_numpy, (*DAMAGED, "numpy-abi-mismatch"), "numpy"),
    _case("torch's _C for Python 3.9", "interpreter", "cpu", _other_tag, DAMAGED, "_C"),
    _case("pyvenv.cfg deleted", "interpreter", "cpu", _no_config, DAMAGED, "pyvenv.cfg"),
    _case("random.py in the working directory", "shadowed", "cpu", _module_of_python_in_cwd, DAMAGED, "random.py"),
    _case("typing_extensions.py on PYTHONPATH", "shadowed", "cpu", _typing_on_path, DAMAGED, "typing_extensions"),
    _uninstalled("typing-extensions", "cpu", (*DAMAGED, "torch-companion-mismatch")),
    _case("an old libstdc++ on LD_LIBRARY_PATH", "loader", "cpu", _old_libstdcxx,
          ("system-library-missing", "gpu-libs-conflict", "gpu-libs-not-found"), "libstdc++"),
    _case("an old libstdc++ by LD_PRELOAD", "loader", "cpu", _preloaded_libstdcxx,
          ("system-library-missing", "gpu-libs-conflict", "gpu-libs-not-found"), "libstdc++"),
    _case("a stub of libcuda in a folder of another name", "loader", "cuda", _stub_in_folder, ("gpu-libs-conflict",),
          "stub", "libcuda"),
    _case("a stub of libcuda in cuda-13.0", "loader", "cuda", _stub_of_other_version, ("gpu-libs-conflict",),
          "stub", "libcuda"),
    _case("cuDNN of two releases", "files", "cuda", _mixed_cudnn, (*DAMAGED, "gpu-libs-conflict"), "libcudnn_graph"),
    _case("torch without metadata", "packages", "cpu", _without_metadata, DAMAGED, "metadata"),
    _case("a package of the project called sympy", "shadowed", "cpu", _half_of_sympy, DAMAGED, "sympy"),
    _case("a libgomp without versions by LD_PRELOAD", "loader", "cpu", _preloaded_libgomp,
          ("system-library-missing", "gpu-libs-conflict"), "libgomp"),
    _case("another libtorch_cuda", "files", "cuda", _another_libtorch_cuda, DAMAGED, "libtorch_cuda"),
    _case("a Python without execute permission", "interpreter", "bare", _not_executable, DAMAGED, "ermission"),
    _case("CuPy for CUDA 11 and for 12", "packages", "bare",
          lambda env: env.install("cupy-cuda12x==13.6.0", "cupy-cuda11x==13.6.0", "fastrlock"), DAMAGED, "cupy"),
    _case("CuPy for CUDA 11 without its libraries", "packages", "cuda",
          lambda env: env.install("cupy-cuda11x==13.6.0", "fastrlock"), _LIBS, "libcublas.so.11", "cupy"),
    _case("torchtext of another torch", "packages", "cuda", lambda env: env.install("torchtext==0.18.0"),
          ("extension-abi-mismatch", "torch-companion-mismatch"), "torchtext"),
    _case("torchcodec of another torch", "packages", "cuda", lambda env: env.install("torchcodec==0.4.0"),
          ("extension-abi-mismatch", "torch-companion-mismatch"), "torchcodec"),
    _uninstalled("nvidia-nvshmem-cu12", "cuda", _LIBS),
    _uninstalled("nvidia-cufile-cu12", "cuda", _LIBS),
    _uninstalled("nvidia-cuda-cupti-cu12", "cuda", _LIBS),
    _older("nvidia-nccl-cu12==2.18.1", ("gpu-libs-conflict", "torch-companion-mismatch", "toolkit-torch-mismatch",
                                        "gpu-libs-not-found")),
    _older("nvidia-cudnn-cu12==8.9.2.26", (*_LIBS, "gpu-libs-conflict", "torch-companion-mismatch",
                                           "toolkit-torch-mismatch")),
)  # fmt: skip
