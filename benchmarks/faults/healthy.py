"""Environments of Python in which nothing is wrong, plain ones and odd ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.faults.broken import Case
from benchmarks.faults.environments import Environment, run


def _nothing(env: Environment) -> None:
    pass


def _slimmed(env: Environment) -> None:
    """What makes an image small: no tests, headers, static libraries."""
    for pattern in ("torch/include", "torch/share", "numpy/**/tests", "nvidia/*/include", "networkx/**/tests"):
        for path in list(env.site.glob(pattern)):
            shutil.rmtree(path, ignore_errors=True)
    for path in env.site.rglob("*.a"):
        path.unlink()


def _stripped(env: Environment) -> None:
    for pattern in ("torch/lib/libc10.so", "torch/lib/libshm.so", "torch/lib/libtorch_python.so"):
        path = env.site / pattern
        copy = path.with_suffix(".stripped")
        run("strip", "--strip-unneeded", "-o", copy, path)
        path.unlink()
        copy.rename(path)


def _toolkit_of_same_libraries(env: Environment) -> None:
    """/opt/cuda-12.8/lib64 on LD_LIBRARY_PATH, whose libcudart is the very build that torch brings."""
    folder = env.folder("cuda-12.8") / "lib64"
    folder.mkdir(parents=True)
    for library in env.site.glob("nvidia/cuda_runtime/lib/libcudart.so.12"):
        shutil.copy(library, folder)
    env.environ["LD_LIBRARY_PATH"] = str(folder)


def _toolkit_of_other_names(env: Environment) -> None:
    folder = env.folder("cuda-11.8") / "lib64"
    env.library(folder / "libcudart.so.11.0", "libcudart.so.11.0", "int x;")
    env.environ["LD_LIBRARY_PATH"] = str(folder)


def _no_libraries_on_path(env: Environment) -> None:
    env.environ["LD_LIBRARY_PATH"] = f"/usr/local/nvidia/lib64:{env.folder('empty')}:"


def _namespace_on_path(env: Environment) -> None:
    """A folder called torch with data in it is no package: Python prefers the whole one that comes later."""
    (env.folder("project") / "torch").mkdir()
    (env.folder("project") / "torch/model.pt").write_text("")
    env.environ["PYTHONPATH"] = str(env.folder("project"))


def _notes_in_cwd(env: Environment) -> None:
    env.cwd = env.folder("work")
    (env.cwd / "train_torch.py").write_text("import torch\n")
    (env.cwd / "torch_utils").mkdir()


def _editable(env: Environment) -> None:
    source = env.folder("package")
    (source / "mine").mkdir()
    (source / "mine/__init__.py").write_text("import torch\n")
    text = '[build-system]\nrequires=["setuptools"]\nbuild-backend="setuptools.build_meta"\n'
    (source / "pyproject.toml").write_text(f'{text}[project]\nname="mine"\nversion="1"\n')
    env.pip("install", "--no-deps", "--no-build-isolation", "--no-index", "-e", str(source))


def _linked(env: Environment) -> None:
    """As uv installs with --link-mode symlink: each file a link into a cache."""
    cache = env.folder("cache") / "torch"
    (env.site / "torch").rename(cache)
    for path in cache.rglob("*"):
        target = env.site / "torch" / path.relative_to(cache)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)


def _by_uv(env: Environment) -> None:
    env.install("uv")
    target = env.folder("uv")
    variables = {**env.variables(), "UV_OFFLINE": "1"}
    run(env.prefix / "bin/uv", "venv", "-q", "--clear", "--python", sys.executable, target, environment=variables)
    wheel = env.work.wheel("numpy==2.2.6")
    run(env.prefix / "bin/uv", "pip", "install", "-q", "--python", target / "bin/python", "--no-index", wheel,
        environment=variables)  # fmt: skip
    env.environ["VIRTUAL_ENV"] = str(target)


def _target(env: Environment) -> None:
    """`pip install --target`, and the folder on PYTHONPATH."""
    place = env.folder("target")
    env.pip("install", "--no-deps", "--no-index", "--target", str(place), str(env.work.wheel("numpy==2.2.6")))
    env.environ["PYTHONPATH"] = str(place)


def _inherits(env: Environment) -> None:
    config = env.prefix / "pyvenv.cfg"
    text = config.read_text()
    config.unlink()
    config.write_text(text.replace("include-system-site-packages = false", "include-system-site-packages = true"))


def _nix_like(env: Environment) -> None:
    """A prefix without pyvenv.cfg whose site-packages are links into a store."""
    store = env.folder("store")
    (env.prefix / "pyvenv.cfg").unlink()
    for path in list(env.site.iterdir()):
        path.rename(store / path.name)
        path.symlink_to(store / path.name)
    env.environ["VIRTUAL_ENV"] = ""


def _conda_like(env: Environment) -> None:
    """Records in conda-meta; the libraries were relocated after the wheel's RECORD was written."""
    meta = env.prefix / "conda-meta"
    meta.mkdir()
    record = next(env.site.glob("torch-*.dist-info/RECORD"))
    python = env.site.parent.name
    rows = []
    for line in record.read_text().splitlines():
        path = line.rsplit(",", 2)[0]
        if not path.startswith("..") and not path.endswith(".pyc") and (env.site / path).exists():
            size = (env.site / path).stat().st_size
            inside = f"lib/{python}/site-packages/{path}"
            rows.append({"_path": inside, "path_type": "hardlink", "size_in_bytes": size})
    version = record.parent.name.split("-")[1].partition(".dist")[0].partition("+")[0]
    text = json.dumps({"name": "pytorch", "version": version, "paths_data": {"paths": rows}})
    (meta / f"pytorch-{version}-py3.11_cuda12.8_0.json").write_text(text)
    changed = record.read_text().replace("torch/lib/libc10.so,sha256=", "torch/lib/libc10.so,sha256=0")
    record.unlink()
    record.write_text(changed)
    env.environ |= {"VIRTUAL_ENV": "", "CONDA_PREFIX": str(env.prefix)}


def _patched_by_hand(env: Environment) -> None:
    path = env.site / "torch/serialization.py"
    text = path.read_text()
    path.unlink()
    path.write_text(text + "\n# patched\n")


def _upgraded_pip(env: Environment) -> None:
    env.install("torchaudio==2.9.1")


def _not_active(env: Environment) -> None:
    env.environ["VIRTUAL_ENV"] = ""


def _other_preload(env: Environment) -> None:
    library = env.library(env.folder("malloc") / "libjemalloc.so.2", "libjemalloc.so.2", "int je;")
    env.environ["LD_PRELOAD"] = str(library)


def _bitsandbytes(env: Environment) -> None:
    env.install("bitsandbytes==0.48.2", "packaging==25.0")


def _pyc_written(env: Environment) -> None:
    subprocess.run([str(env.python), "-c", "import torch"], check=True, capture_output=True, timeout=120)


def _gone_user_site(env: Environment) -> None:
    Path(env.variables()["HOME"], ".local/lib/python3.11/site-packages/torch").mkdir(parents=True, exist_ok=True)


CASES: tuple[Case, ...] = (
    Case("torch for CUDA as pip leaves it", "plain", "cuda", _nothing),
    Case("torch for the CPU", "plain", "cpu", _nothing),
    Case("no torch", "plain", "bare", _nothing),
    Case("torchaudio added", "plain", "cuda", _upgraded_pip),
    Case("bitsandbytes added", "plain", "cuda", _bitsandbytes),
    Case("torch was imported", "plain", "cuda", _pyc_written),
    Case("tests and headers deleted", "odd", "cuda", _slimmed),
    Case("libraries stripped", "odd", "cuda", _stripped),
    Case("a file of torch patched by hand", "odd", "cuda", _patched_by_hand),
    Case("another toolkit beside RPATH, the same build", "odd", "cuda", _toolkit_of_same_libraries),
    Case("CUDA 11.8 on LD_LIBRARY_PATH", "odd", "cuda", _toolkit_of_other_names),
    Case("LD_LIBRARY_PATH of empty folders", "odd", "cuda", _no_libraries_on_path),
    Case("a folder torch of data on PYTHONPATH", "odd", "cuda", _namespace_on_path),
    Case("scripts about torch in the working directory", "odd", "cuda", _notes_in_cwd),
    Case("an editable install", "odd", "cpu", _editable),
    Case("files linked into a cache", "odd", "cpu", _linked),
    Case("an environment of uv", "odd", "bare", _by_uv),
    Case("pip install --target", "odd", "bare", _target),
    Case("system packages inherited", "odd", "cpu", _inherits),
    Case("a prefix of links, as Nix makes", "odd", "cpu", _nix_like),
    Case("records of conda", "odd", "cuda", _conda_like),
    Case("activated by PATH alone", "odd", "cpu", _not_active),
    Case("jemalloc preloaded", "odd", "cuda", _other_preload),
    Case("an empty folder torch in ~/.local", "odd", "cpu", _gone_user_site),
)
