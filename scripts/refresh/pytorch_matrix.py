"""PyTorch's build matrix: for which CUDA and ROCm the current release is built. It is a Python file, and is not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "PyTorch's build matrix"
URL = "https://raw.githubusercontent.com/pytorch/test-infra/main/tools/scripts/generate_binary_build_matrix.py"
_NAMES = ("CUDA_ARCHES_DICT", "ROCM_ARCHES_DICT", "PYTHON_ARCHES_DICT", "CURRENT_STABLE_VERSION")


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ torch_builds: 2.16.0 is built for CUDA 13.6`. Raises ValueError for a file that names no release."""
    said = assigned(get(URL, {}).decode("utf-8", "replace"))
    if "CURRENT_STABLE_VERSION" not in said:
        raise ValueError(f"{URL}: names no current release")
    stable = str(said["CURRENT_STABLE_VERSION"])
    release = kb.torch_build(stable)
    if release is None:
        yield f"+ torch_builds: {stable} is the current release"
    for name, word in (("CUDA_ARCHES_DICT", "CUDA"), ("ROCM_ARCHES_DICT", "ROCm")):
        for version in _of_release(said, name):
            tag = f"cu{version.replace('.', '')}" if word == "CUDA" else version
            known = (*release.cuda_variants, *release.rocm_variants, *release.archs) if release else ()
            if tag not in known and f"rocm{version}" not in known:
                yield f"+ torch_builds: {stable} is built for {word} {version}"


def _of_release(said: dict[str, object], name: str) -> list[str]:
    table = said.get(name)
    return [str(v) for v in table.get("release", ())] if isinstance(table, dict) else []


def assigned(text: str) -> dict[str, object]:
    """The literals that the file assigns to the names that matter. Raises ValueError for what is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"{URL}: {error}") from error
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in _NAMES:
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found
