"""Which torch build `doctor solve`, uv and light-the-torch choose for the NVIDIA machines of tests/resolve/queries.txt.

    python -m benchmarks.torch_choosers UV LIGHT_THE_TORCH_PYTHON

uv is given the driver by UV_CUDA_DRIVER_VERSION, light-the-torch by an nvidia-smi that prints it; neither is given the
GPU, which neither asks for. No index is needed: uv names the one that it would ask, light-the-torch the builds that it
accepts, of which the newest that PyTorch publishes counts. A choice is right where the newest release in that index has
code for the GPU and the driver serves its CUDA; where the driver is older than the GPU, only none is right. What has
code is read from the wheels, what a driver serves from NVIDIA's tables: the same facts that doctor chooses by. Prints
one Markdown table.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from doctor.knowledge import Knowledge
from doctor.knowledge.store import table
from doctor.knowledge.windows import code_runs, driver_knows_gpu, driver_serves_cuda
from doctor.resolve import described, solve
from doctor.resolve.model import Build
from doctor.versions import Dotted
from tests.resolve.queries import queries

KB = Knowledge()
_ACCEPTED = "from light_the_torch._cb import detect_compatible_computation_backends as d; print(*d())"


@cache
def uv_choice(uv: str, driver: str) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        argv = [uv, "pip", "install", "--dry-run", "--target", folder, "--no-cache", "--torch-backend=auto", "torch"]
        env = os.environ | {"UV_CUDA_DRIVER_VERSION": driver, "UV_HTTP_RETRIES": "0"}
        done = subprocess.run(argv, env=env, capture_output=True, text=True)
    found = re.search(r"pytorch\.org/whl/(\w+)", done.stderr)
    return found[1] if found else None


@cache
def light_choice(python: str, driver: str) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder, "nvidia-smi")
        tool.write_text(f"#!/bin/sh\necho driver_version\necho {driver}\n")
        tool.chmod(0o755)
        done = subprocess.run(
            [python, "-c", _ACCEPTED], env={"PATH": folder}, capture_output=True, text=True, check=True
        )
    there = {tag for _, tag in published()}
    return max(there & set(done.stdout.split()), key=lambda tag: int(tag[2:]) if tag != "cpu" else 0, default=None)


@cache
def published() -> tuple[tuple[str, str], ...]:
    """(release, build) of the wheels for CUDA that PyTorch publishes, the newest release first."""
    rows = [
        (version, tag)
        for version in table("torch_builds")
        if (build := KB.torch_build(version))
        for tag in build.archs
        if tag.startswith("cu")
    ]
    return tuple(sorted(rows, key=lambda row: Dotted(row[0]).numbers, reverse=True))


def judged(tag: str | None, arch: str, driver: str) -> str:
    if driver_knows_gpu(KB, driver, arch).verdict == "no":
        return "driver too old" if tag else "right"
    release = next((version for version, built in published() if built == tag), None)
    row = KB.torch_build(release) if release else None
    if tag is None or row is None:
        return "none"
    if code_runs(KB, arch, row.archs[tag].get("x86_64", ()), Build(release or "", tag).cuda).verdict == "no":
        return "no code for the GPU"
    served = driver_serves_cuda(KB, driver, Build(release or "", tag).cuda or "").verdict
    return "driver too old" if served == "no" else "right"


def machines() -> Iterator[tuple[str, str, str | None]]:
    """(GPU, driver, doctor's build) of each machine that is asked about once."""
    seen = set()
    for query in queries():
        machine = dict(query.machine)
        target = described(KB, **machine)
        if target.vendor != "nvidia" or not target.arch or not target.driver or target.machine != "x86_64":
            continue
        if (target.arch, target.driver) not in seen:
            seen.add((target.arch, target.driver))
            found = solve(KB, described(KB, gpu=target.arch, driver=target.driver), ["torch"])
            yield target.arch, target.driver, found.build.tag if found.build and found.commands else None


def main(uv: str, python: str) -> None:
    rows = {
        "doctor solve": Counter[str](),
        "uv --torch-backend=auto": Counter[str](),
        "light-the-torch": Counter[str](),
    }
    for arch, driver, own in machines():
        chosen = (own, uv_choice(uv, driver), light_choice(python, driver))
        for program, tag in zip(rows, chosen, strict=True):
            rows[program][judged(tag, arch, driver)] += 1
        print(arch, driver, *chosen, file=sys.stderr)
    kinds = ("right", "no code for the GPU", "driver too old", "none")
    print(f"| program | {' | '.join(kinds)} |", "|--|" + "--|" * len(kinds), sep="\n")
    for program, counts in rows.items():
        print(f"| {program} | {' | '.join(str(counts[kind]) for kind in kinds)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
