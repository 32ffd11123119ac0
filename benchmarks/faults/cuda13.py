"""Environments of the packages for CUDA 13, which share one folder (nvidia/cu13/lib): broken ones, then healthy."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.faults.broken import DAMAGED, Case
from benchmarks.faults.environments import Environment, run

_BASE = "cuda13"
_FINDER = "__editable___torchvision_finder"


def _numpy_for_musl(env: Environment) -> None:
    """A wheel for Alpine, as a download on another system leaves it."""
    place = env.folder("musl")
    which = ("--platform", "musllinux_1_2_x86_64", "--only-binary=:all:", "--no-deps")
    run(sys.executable, "-m", "pip", "download", "-q", *which, "-d", place, "numpy==2.3.2")
    env.pip("uninstall", "-y", "numpy")
    run(sys.executable, "-m", "zipfile", "-e", next(place.glob("*.whl")), env.site)


def _old_nccl_first(env: Environment) -> None:
    library = env.folder("nccl") / "libnccl.so.2"
    code = "int ncclGetVersion(int *v) { *v = 21803; return 0; }"
    env.environ["LD_PRELOAD"] = str(env.library(library, "libnccl.so.2", code))


def _editable(env: Environment, sources: Path) -> None:
    """torchvision as `pip install -e` leaves it, with its sources at that place."""
    record = next(env.site.glob("torchvision-*.dist-info"))
    shutil.move(env.site / "torchvision", sources / "torchvision")
    if (libraries := env.site / "torchvision.libs").exists():
        shutil.move(libraries, sources / "torchvision.libs")
    where = f"{sources}/torchvision"
    finder = f"""import sys
from importlib.util import spec_from_file_location
MAPPING: dict[str, str] = {{'torchvision': '{where}'}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return spec_from_file_location(name, MAPPING[name] + '/__init__.py') if name in MAPPING else None
def install():
    sys.meta_path.append(Finder)
"""
    start = f"import {_FINDER}; {_FINDER}.install()\n"
    env.write(f"{_FINDER}.py", finder)
    env.write("__editable__.torchvision.pth", start)
    rows = {f"{_FINDER}.py": len(finder), "__editable__.torchvision.pth": len(start)}
    text = "".join(f"{path},sha256=,{size}\n" for path, size in rows.items())
    env.write(f"{record.name}/RECORD", f"{text}{record.name}/METADATA,,\n{record.name}/RECORD,,\n")


def _editable_gone(env: Environment) -> None:
    sources = env.folder("vision")
    _editable(env, sources)
    shutil.rmtree(sources)


def _cache_of_links(env: Environment) -> Path:
    """Packages that are links into a cache, as uv makes them with UV_LINK_MODE=symlink."""
    cache = env.folder("cache")
    for name in ("torch", "torchvision"):
        shutil.move(env.site / name, cache / name)
        for path in (cache / name).rglob("*"):
            place = env.site / path.relative_to(cache)
            if path.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(path)
    return cache


def _linked(env: Environment) -> None:
    _cache_of_links(env)


def _home(path: str) -> Case:
    rules = () if path == sys.base_prefix else DAMAGED
    name, kind = ("PYTHONHOME of another Python", "interpreter") if rules else ("PYTHONHOME of its own Python", "odd")
    return Case(name, kind, _BASE, lambda env: env.environ.update(PYTHONHOME=path), rules, ("PYTHONHOME",))


CASES: tuple[Case, ...] = (
    Case("libcaffe2_nvrtc deleted", "files", _BASE, lambda env: env.delete("torch/lib/libcaffe2_nvrtc.so"), DAMAGED,
         ("libcaffe2_nvrtc",)),
    Case("nvrtc's builtins deleted", "files", _BASE,
         lambda env: env.delete("nvidia/cu13/lib/libnvrtc-builtins.so.13.0"), DAMAGED, ("libnvrtc-builtins",)),
    Case("links into a cache that was pruned", "files", _BASE, lambda env: shutil.rmtree(_cache_of_links(env)), DAMAGED,
         ("torch",)),
    Case("mpmath deleted", "packages", _BASE, lambda env: env.delete("mpmath"), DAMAGED, ("mpmath",)),
    Case("NumPy for musl", "packages", _BASE, _numpy_for_musl, DAMAGED, ("numpy",)),
    Case("an editable torchvision without its sources", "packages", _BASE, _editable_gone, DAMAGED, ("torchvision",)),
    Case("an old NCCL by LD_PRELOAD", "loader", _BASE, _old_nccl_first, ("gpu-libs-conflict",), ("nccl",)),
    _home("/usr"),
    Case("torch for CUDA 13 as pip leaves it", "plain", _BASE, lambda _env: None),
    Case("links into a cache", "odd", _BASE, _linked),
    Case("an editable torchvision by a finder", "odd", _BASE, lambda env: _editable(env, env.folder("vision"))),
    _home(sys.base_prefix),
)  # fmt: skip
