"""More environments in which nothing is wrong, and which look as if something were."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.faults.broken import Case
from benchmarks.faults.environments import Environment


def _stale_pth(env: Environment) -> None:
    env.write("old-project.pth", "/home/me/removed/src\n")


def _missing_preload(env: Environment) -> None:
    """The loader says so and goes on."""
    env.environ["LD_PRELOAD"] = "/usr/lib/libnosuch.so"


def _left_by_pip(env: Environment) -> None:
    """What pip renames while it works, and leaves where it is interrupted after the new files are there."""
    shutil.copytree(env.site / "filelock", env.site / "~ilelock")


def _no_caches(env: Environment) -> None:
    for path in list(env.site.rglob("__pycache__")):
        shutil.rmtree(path)


def _of_distribution(env: Environment) -> None:
    """Distributions leave RECORD out."""
    for path in (*env.site.glob("numpy-*.dist-info"), *env.site.glob("torch-*.dist-info")):
        (path / "RECORD").unlink()
        (path / "INSTALLER").unlink()
        (path / "INSTALLER").write_text("debian\n")


def _through_a_link(env: Environment) -> None:
    link = env.folder("links") / "current"
    link.symlink_to(env.prefix)
    env.environ |= {"VIRTUAL_ENV": str(link), "PATH": f"{link}/bin:/usr/local/bin:/usr/bin:/bin"}


def _own_libraries_named(env: Environment) -> None:
    env.environ["LD_LIBRARY_PATH"] = str(env.site / "torch/lib")


def _own_site_named(env: Environment) -> None:
    env.environ["PYTHONPATH"] = f"{env.site}:{env.site}"


def _without_pip(env: Environment) -> None:
    env.delete("pip", "pip-*.dist-info", "setuptools", "setuptools-*.dist-info", "_distutils_hack",
               "distutils-precedence.pth", "pkg_resources") if (env.site / "pkg_resources").exists() else env.delete(
        "pip", "pip-*.dist-info")  # fmt: skip


def _numpy_of_the_user(env: Environment) -> None:
    """A virtual environment does not look there."""
    site = Path(env.variables()["HOME"], ".local/lib", env.site.parent.name, "site-packages")
    site.mkdir(parents=True, exist_ok=True)
    shutil.copytree(env.site / "numpy-2.4.6.dist-info", site / "numpy-1.26.4.dist-info") if (
        env.site / "numpy-2.4.6.dist-info"
    ).exists() else None
    (site / "numpy").mkdir(exist_ok=True)
    (site / "numpy/__init__.py").write_text("")


def _data_named_numpy(env: Environment) -> None:
    env.cwd = env.folder("work")
    (env.cwd / "numpy").mkdir()
    (env.cwd / "numpy/array.npy").write_text("")


def _sources_below(env: Environment) -> None:
    env.cwd = env.folder("work")
    (env.cwd / "src/torch").mkdir(parents=True)
    (env.cwd / "src/torch/__init__.py").write_text("")


def _pixi(env: Environment) -> None:
    """An environment of pixi: below .pixi/envs, conda's folders, no pyvenv.cfg."""
    home = env.folder("project") / ".pixi/envs"
    home.mkdir(parents=True)
    (env.prefix / "conda-meta").mkdir()
    (env.prefix / "conda-meta/history").write_text("")
    (env.prefix / "conda-meta/pixi").write_text(
        '{"manifest_path": "/project/pixi.toml", "environment_name": "default"}'
    )
    (home / "default").symlink_to(env.prefix)
    env.environ |= {"VIRTUAL_ENV": "", "CONDA_PREFIX": str(home / "default"), "PIXI_ENVIRONMENT_NAME": "default"}


def _other_driver_library(env: Environment) -> None:
    """A folder for drivers that holds no library of a GPU."""
    folder = env.folder("driver")
    env.library(folder / "libvdpau_nvidia.so.1", "libvdpau_nvidia.so.1", "int x;")
    env.environ["LD_LIBRARY_PATH"] = str(folder)


def _newer_nccl(env: Environment) -> None:
    """A newer patch than torch asks for, as its users are told to take."""
    env.install("nvidia-nccl-cu12==2.28.9")


CASES: tuple[Case, ...] = (
    Case("a .pth file of a removed project", "odd", "cpu", _stale_pth),
    Case("LD_PRELOAD of a file that is gone", "odd", "cpu", _missing_preload),
    Case("a folder that pip left behind", "odd", "cpu", _left_by_pip),
    Case("no compiled Python files", "odd", "cpu", _no_caches),
    Case("packages without RECORD", "odd", "cpu", _of_distribution),
    Case("an environment through a link", "odd", "cpu", _through_a_link),
    Case("torch/lib on LD_LIBRARY_PATH", "odd", "cpu", _own_libraries_named),
    Case("site-packages on PYTHONPATH", "odd", "cpu", _own_site_named),
    Case("no pip", "odd", "cpu", _without_pip),
    Case("NumPy in ~/.local beside an environment", "odd", "cpu", _numpy_of_the_user),
    Case("data in a folder called numpy", "odd", "cpu", _data_named_numpy),
    Case("torch's sources below the working directory", "odd", "cpu", _sources_below),
    Case("an environment of pixi", "odd", "cpu", _pixi),
    Case("a folder of drivers without one of a GPU", "odd", "cuda", _other_driver_library),
    Case("a newer patch of NCCL", "odd", "cuda", _newer_nccl),
    Case("a newer nvJitLink", "odd", "cuda", lambda env: env.install("nvidia-nvjitlink-cu12==12.9.86")),
)
