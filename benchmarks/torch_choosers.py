"""What `doctor solve`, uv and light-the-torch choose for the queries of tests/resolve/queries.txt.

    python -m benchmarks.torch_choosers UV LIGHT_THE_TORCH_PYTHON

Queries for torch and its family: which build. uv is given the driver by UV_CUDA_DRIVER_VERSION or the GPU by
UV_AMD_GPU_ARCHITECTURE, light-the-torch the driver by an nvidia-smi that prints it. No index is needed: uv names the
one that it would ask, light-the-torch the builds that it accepts, of which the newest that PyTorch publishes counts.

Queries for packages without torch: which release. uv resolves what was typed for the described Python and system, on
the Python package index; light-the-torch passes such packages on to pip and is not asked.

A choice is right where its newest release has code for the GPU and its CUDA or ROCm is served by the driver; to choose
none is right where nothing known fits. What has code is read from the wheels, what a driver serves from the vendors'
tables: the same facts that doctor chooses by. Queries without a driver, for AMD's in-tree driver, and for packages that
need torch from an index beside their own are not compared. Prints two Markdown tables.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

from doctor.knowledge import Knowledge
from doctor.knowledge.store import table
from doctor.resolve import Solution, Target, described, solve, torch_builds
from doctor.resolve.packages import FAMILY, needs_torch
from doctor.resolve.resolver import argv, question
from tests.resolve.queries import queries

KB = Knowledge()
KINDS = (
    "right",
    "no code for the GPU",
    "driver does not serve it",
    "no such wheel",
    "not known",
    "none, though one fits",
)
_ACCEPTED = "from light_the_torch._cb import detect_compatible_computation_backends as d; print(*d())"


@cache
def uv_build(uv: str, python: str, driver: str, gfx: str) -> str | None:
    known = {"UV_AMD_GPU_ARCHITECTURE": gfx} if gfx else {"UV_CUDA_DRIVER_VERSION": driver}
    with tempfile.TemporaryDirectory() as folder:
        words = [uv, "pip", "install", "--dry-run", "--target", folder, "--no-cache", "--python", python]
        env = os.environ | known | {"UV_HTTP_RETRIES": "0"}
        done = subprocess.run([*words, "--torch-backend=auto", "torch"], env=env, capture_output=True, text=True)
    found = re.search(r"pytorch\.org/whl/([\w.]+)", done.stderr)
    return found[1] if found else None


@cache
def light_build(python: str, driver: str) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder, "nvidia-smi")
        tool.write_text(f"#!/bin/sh\necho driver_version\necho {driver}\n")
        tool.chmod(0o755)
        done = subprocess.run(
            [python, "-c", _ACCEPTED], env={"PATH": folder}, capture_output=True, text=True, check=True
        )
    there = {tag for row in map(KB.torch_build, table("torch_builds")) if row for tag in row.archs}
    return max(there & set(done.stdout.split()), key=lambda tag: int(tag[2:]) if tag != "cpu" else 0, default=None)


def build_judged(target: Target, tag: str | None, own: Solution) -> str:
    """A build by its newest release that has wheels for the Python and system, as an installer finds it."""
    if tag is None or tag == "cpu":
        return "right" if own.status != "solved" else KINDS[-1]
    for build in torch_builds.builds(KB, target):
        if build.tag == tag:
            found = solve(KB, target, [f"torch=={build.version}+{tag}"])
            if not {r.kind for r in found.refusals()} & {"python", "platform"}:
                return judged(found)
    return KINDS[3]


def judged(found: Solution) -> str:
    if found.status == "impossible":
        kinds = {r.kind for r in found.refusals()}
        return KINDS[1] if "gpu" in kinds else KINDS[2] if "driver" in kinds else KINDS[3]
    return "right" if found.status == "solved" else "not known"


def uv_release(uv: str, target: Target, packages: tuple[str, ...], own: Solution) -> str:
    asked = question(solve(KB, target, packages)) or question(solve(KB, Target(), packages))
    if asked is None:
        return "not known"
    words = [word for word in argv(uv, asked) if word != sys.executable]
    words.remove("--python")
    done = subprocess.run(words, input="\n".join(packages), capture_output=True, text=True)
    pins = dict(line.split("==") for line in done.stdout.splitlines() if "==" in line)
    if done.returncode or not pins:
        return "right" if own.status != "solved" else KINDS[-1]
    typed = [Requirement(text) for text in packages]
    return judged(solve(KB, target, [f"{_with_extras(w)}=={pins[w.name]}" for w in typed if w.name in pins]))


def _with_extras(wish: Requirement) -> str:
    return f"{wish.name}[{','.join(sorted(wish.extras))}]" if wish.extras else wish.name


def main(uv: str, python: str) -> None:
    builds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    releases: defaultdict[str, Counter[str]] = defaultdict(Counter)
    left_out = 0
    for query in queries():
        target = described(KB, **dict(query.machine))
        names = {Requirement(text).name for text in query.packages}
        if not target.arch or not target.driver or target.driver == "in-tree":
            left_out += 1
        elif names <= set(FAMILY):
            own = solve(KB, target, query.packages)
            builds["doctor solve"][judged(own) if own.status == "solved" else "right"] += 1
            gfx = target.arch if target.vendor == "amd" else ""
            chosen = uv_build(uv, python, target.driver, gfx)
            builds["uv --torch-backend=auto"][build_judged(target, chosen, own)] += 1
            if not gfx:
                chosen = light_build(python, target.driver)
                builds["light-the-torch (NVIDIA alone)"][build_judged(target, chosen, own)] += 1
        elif not any(needs_torch(KB, Requirement(text)) for text in query.packages):
            own = solve(KB, target, query.packages)
            releases["doctor solve"][judged(own) if own.status == "solved" else "right"] += 1
            releases["uv pip install"][uv_release(uv, target, query.packages, own)] += 1
        else:
            left_out += 1
    for title, rows in (("build of torch", builds), ("release", releases)):
        print(f"| {title} | queries | {' | '.join(KINDS)} |", "|--|--|" + "--|" * len(KINDS), sep="\n")
        for program, counts in rows.items():
            print(f"| {program} | {counts.total()} | {' | '.join(str(counts[kind]) for kind in KINDS)} |")
    print(f"Not compared: {left_out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
