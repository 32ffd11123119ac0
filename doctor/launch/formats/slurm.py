"""A batch script for Slurm with pyxis and enroot.

Slurm hands out the GPUs; enroot shares /dev and /dev/shm. NVIDIA's hook of enroot acts on NVIDIA_VISIBLE_DEVICES and
gives `utility` alone unless told more; there is no hook of AMD, and none is needed.
"""

from __future__ import annotations

import shlex

from doctor.errors import InputError
from doctor.launch.spec import Emitted, Line, Spec

_ENROOT_SHARES = {"device", "cdi", "gpus", "runtime", "group", "shm", "ipc", "user"}
_HOOK = {
    "NVIDIA_VISIBLE_DEVICES": ("all", "enroot's hook of NVIDIA acts on it; Slurm's cgroup bounds what can be opened"),
    "NVIDIA_DRIVER_CAPABILITIES": ("compute,utility", "the hook gives nvidia-smi alone otherwise"),
}


def emit(spec: Spec) -> Emitted:
    if not spec.command:
        raise InputError("--emit slurm: give the command after --: a job that is not interactive needs one")
    count = len(spec.gpus)
    rows = ["#!/bin/bash", f"#SBATCH --job-name={spec.name}", "#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=1"]
    lines = [
        Line("--nodes=1", "GPUs of one node were asked for"),
        Line("--ntasks-per-node=1", "the command starts its own processes"),
    ]
    if spec.vendor:
        rows.append(f"#SBATCH --gres=gpu:{count}")
        lines.append(Line(f"--gres=gpu:{count}", f"{count} GPU of the node; Slurm chooses which"))
    env = dict(spec.env)
    lines += [Line(f"export {p.value.partition('=')[0]}", p.reason) for p in spec.of("env")]
    if spec.vendor == "nvidia":
        env |= {name: value for name, (value, _) in _HOOK.items()}
        lines += [Line(f"export {name}", reason) for name, (_, reason) in _HOOK.items()]
    rows += ["set -euo pipefail", *(f"export {name}={shlex.quote(value)}" for name, value in env.items())]
    words = ["srun", f"--container-image={pyxis(spec.image)}"]
    if env:
        words.append(f"--container-env={','.join(env)}")
        lines.append(Line("--container-env", "the image's own values would win otherwise"))
    mounts = [part.value for part in spec.of("mount")]
    if mounts:
        words.append(f"--container-mounts={','.join(mounts)}")
        lines.append(Line("--container-mounts", "you asked for it"))
    rows.append(shlex.join([*words, *spec.command]))
    left_out = [f"{p.kind} {p.value}: Slurm and enroot decide" for p in spec.parts if p.kind not in _SAID]
    if spec.vendor and not spec.every:
        left_out.append(f"which GPUs ({', '.join(spec.gpus)}): Slurm chooses")
    return Emitted("\n".join(rows) + "\n", tuple(lines), tuple(left_out))


_SAID = _ENROOT_SHARES | {"env", "mount"}


def pyxis(image: str) -> str:
    """enroot's way of naming a registry.

    >>> pyxis("nvcr.io/nvidia/pytorch:26.05-py3"), pyxis("rocm/pytorch:latest")
    ('nvcr.io#nvidia/pytorch:26.05-py3', 'rocm/pytorch:latest')
    """
    first, slash, rest = image.partition("/")
    return f"{first}#{rest}" if slash and ("." in first or ":" in first or first == "localhost") else image
