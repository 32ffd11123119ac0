"""What the loader would find for libraries that frameworks open by name at run time: ONNX Runtime's providers, JAX's
plugins, TensorFlow's and CuPy's builds for ROCm.

Called by python_env where one of those packages is there. Each is followed in a process of its own: the interpreter,
then that file, with all that it needs. Only what is nowhere is listed, with the copy in the environment's nvidia-*
packages (which nothing finds before `onnxruntime.preload_dlls()` or `import torch`) and with other majors at hand.
Cost: one small read a library that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.facts.sheet import FactSheet
from doctor.probes.lib.python_companions import tagged_for
from doctor.probes.lib.python_libraries import is_driver_s, packaged
from doctor.probes.lib.python_loader import Loader
from doctor.system.base import System

_OPENED: tuple[tuple[re.Pattern[str], str, re.Pattern[str]], ...] = tuple(
    (re.compile(package), place, re.compile(file))
    for package, place, file in (
        (r"^onnxruntime-gpu$", "onnxruntime/capi", r"^libonnxruntime_providers_cuda\.so$"),
        (r"^onnxruntime-rocm$", "onnxruntime/capi", r"^libonnxruntime_providers_rocm\.so$"),
        (r"^onnxruntime-migraphx$", "onnxruntime/capi", r"^libonnxruntime_providers_migraphx\.so$"),
        (r"^jax-(cuda|rocm)(\d{1,3})-pjrt$", r"jax_plugins/xla_\1\2", r"^xla_(?:cuda|rocm)_plugin\.so$"),
        (r"^jax-(rocm)(\d{1,3})-plugin$", r"jax_\1\2_plugin", r"^_linalg\.so$"),
        (r"^tensorflow-rocm$", "tensorflow", r"^libtensorflow_cc\.so\.2$"),
        (r"^cupy-cuda1\dx$", "cupy_backends/cuda/libs", r"^cublas\..{0,60}\.so$"),
        (r"^cupy-rocm-[\d-]{1,8}$", "cupy_backends/cuda/api", r"^driver\..{0,60}\.so$"),
    )
)
"""Package, its folder below site-packages, the file that is opened (contents of the wheels, docs/slow-tier.md)."""
_CUDNN = ("libcudnn.so.9", "libcudnn.so.8")
"""JAX's plugin for CUDA opens one of them when it starts (its wheel's extra `with_cuda` requires the first)."""
_STEM = re.compile(r"^(lib[A-Za-z0-9_]{2,40})\.so\.(\d{1,3})$")
_MOST = 60


def look(
    system: System,
    sheet: FactSheet,
    folders: Mapping[str, Sequence[str]],
    packages: Sequence[Mapping[str, Any]],
    interpreter: str,
    python: str | None,
) -> None:
    """`interpreter`: its path below the root. Says nothing where the environment of the process is not known: a
    container's image may set LD_LIBRARY_PATH, which its tree does not show."""
    environ = system.environ()
    program = system.real(interpreter).value
    if not environ.known or program is None:
        return
    ours = packaged(system, folders)
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(str(row["name"]) for row in packages):
        for package, place, file in _OPENED:
            match = package.match(name)
            if match:
                for path in _files(system, folders, match.expand(place), file, python):
                    rows += _missing(Loader(system, environ.value or {}), program, path, name, ours)
    sheet.put("plugin_libraries", rows[:_MOST], f"file:/{next(iter(folders))}")


def _files(
    system: System, folders: Mapping[str, Sequence[str]], place: str, file: re.Pattern[str], python: str | None
) -> list[str]:
    found = []
    for folder, names in folders.items():
        if place.partition("/")[0] in names:
            listed = system.list_dir(f"{folder}/{place}").value or ()
            found += [f"{folder}/{place}/{n}" for n in listed if file.match(n) and tagged_for(n, python)]
    return found[:1]


def _missing(loader: Loader, program: str, path: str, package: str, ours: Mapping[str, str]) -> list[dict[str, Any]]:
    opened = loader.open(path) if loader.open(program) else None
    if opened is None:
        return []
    later = [loader.ask(name, opened) for name in _CUDNN] if package.startswith("jax-cuda") else []
    answers = [*loader.answers, *(later[:1] if not any(answer.path for answer in later) else ())]
    rows: list[dict[str, Any]] = []
    for answer in answers:
        if answer.path is not None or is_driver_s(answer.name) or any(r["name"] == answer.name for r in rows):
            continue
        row: dict[str, Any] = {
            "key": f"{package} {answer.name}", "package": package, "name": answer.name, "wanted_by": f"/{answer.asker}",
        }  # fmt: skip
        if answer.name in ours:
            row["in_package"] = f"/{ours[answer.name]}"
        stem = _STEM.match(answer.name)
        asker = next((o for o in loader.loaded if o.path == answer.asker), None)
        at_hand = loader.resembling(f"{stem[1]}.so.", asker) if stem and asker else ()
        others = {*at_hand, *(_of_stem(ours, stem[1]) if stem else ())}
        rows.append({**row, "other_majors": [o for o in sorted(others) if _STEM.match(o) and o != answer.name][:4]})
    return rows


def _of_stem(ours: Mapping[str, str], stem: str) -> list[str]:
    return [name for name in ours if (match := _STEM.match(name)) and match[1] == stem]
