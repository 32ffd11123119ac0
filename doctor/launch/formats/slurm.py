"""A batch script for Slurm with pyxis and enroot.

Slurm hands out the GPUs; enroot shares /dev and /dev/shm. NVIDIA's hook of enroot acts on NVIDIA_VISIBLE_DEVICES and
passes `utility` alone unless asked for more; there is no hook of AMD, and none is needed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from doctor.errors import InputError
from doctor.launch.names import origin
from doctor.launch.spec import ON_THE_NODE, Emitted, Kind, Line, Spec, beside_gpus, bound
from doctor.launch.spec import left_out as without

SHELL = True
IMAGES = ("sqsh",)

_FLAGS = {"pass_env", "name", "workdir", "entrypoint"}
_SAID = {"device", "cdi", "gpus", "runtime", "group", "env", "mount", *_FLAGS}
"""What is in the script, or comes with the GPUs that Slurm hands out: enroot shares /dev, and the groups stay."""
_OPTIONS: Mapping[Kind, str] = {
    "env_file": "pyxis reads none: pass each variable with -e",
    "detach": "sbatch runs it in the background",
    **ON_THE_NODE,
}
_UNSAID = {
    "shm": "enroot shares the host's /dev/shm",
    "ipc": "enroot shares the host's",
    "device": "enroot shares the host's /dev; Slurm's device cgroup may close it",
    "user": "the container runs as the one who submits it",
    "ulimit": "limits are slurmd's and PropagateResourceLimits'",
}
DRIVER = ("NVIDIA_DRIVER_CAPABILITIES=compute,utility", "the hook gives nvidia-smi alone otherwise")
_SEEN = ("NVIDIA_VISIBLE_DEVICES=all", "enroot's hook of NVIDIA acts on it; Slurm's cgroup bounds what can be opened")


def emit(spec: Spec) -> Emitted:
    program = spec.one("entrypoint")
    command = (*([program] if program else _own_program(spec) if program is None else []), *spec.command)
    if not command:
        raise InputError("--emit slurm: an empty --entrypoint needs a command after --")
    rows = ["#!/bin/bash", f"#SBATCH --job-name={spec.name}", "#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=1"]
    lines = [
        Line("--job-name", "the image's name, so that the queue shows what runs"),
        Line("--nodes=1", "GPUs of one node were asked for; for two: sbatch --nodes=2 FILE"),
        Line("--ntasks-per-node=1", "the command starts its own processes: once on each node"),
    ]
    if spec.vendor:
        rows.append(f"#SBATCH --gres=gpu:{spec.count}")
        lines.append(Line(f"--gres=gpu:{spec.count}", f"{spec.count} GPU of the node; Slurm chooses which"))
    env = [(part.value, part.reason) for part in spec.of("env")]
    env += [_SEEN, DRIVER] if spec.vendor == "nvidia" else []
    passed = [part.value for part in spec.of("pass_env")]
    lines += [Line(f"--container-env {part.value}", f"{part.reason}, by sbatch") for part in spec.of("pass_env")]
    lines += [Line(f"--job-name {part.value}", part.reason) for part in spec.of("name")]
    values = {pair.partition("=")[0]: pair.partition("=")[2] for pair, _ in env}
    lines += [Line(f"export {pair.partition('=')[0]}", reason) for pair, reason in env]
    rows += ["set -euo pipefail", *(f"export {name}={shlex.quote(value)}" for name, value in values.items())]
    image = pyxis(spec.image)
    if origin(spec.image) == "sqsh":  # pyxis knows a file by its first letter
        image = spec.image if spec.image.startswith(("/", ".")) else f"./{spec.image}"
    words = ["srun", f"--container-image={image}"]
    lines.append(Line("--container-image", "pyxis runs the command in it"))
    if names := [*values, *passed]:
        words.append(f"--container-env={','.join(names)}")
        lines.append(Line("--container-env", "the image's own values would win otherwise"))
    if program is None:
        words.append("--container-writable")
        lines.append(Line("--container-writable", "for the next line, where the site makes containers read-only"))
        lines.append(Line("-- sh -c …", "the image's own program, which pyxis leaves out otherwise"))
    lines += [Line(f"-- {part.value}".rstrip(), part.reason) for part in spec.of("entrypoint")]
    for part in spec.of("workdir"):
        words.append(f"--container-workdir={part.value}")
        lines.append(Line(f"--container-workdir={part.value}", part.reason))
    mounts = [bound(part).plain for part in spec.of("mount")]
    if mounts:
        words.append(f"--container-mounts={','.join(mounts)}")
        lines.append(Line("--container-mounts", "; ".join(dict.fromkeys(part.reason for part in spec.of("mount")))))
    rows.append(shlex.join([*words, "--", *command]))
    unsaid = [p for p in spec.parts if p.kind not in (*_SAID, *_OPTIONS) or beside_gpus(p)]
    left_out = [f"{p.kind} {p.value}: {_UNSAID.get(p.kind, 'the container has what the job has')}" for p in unsaid]
    left_out += without(spec, _OPTIONS)
    if spec.vendor and not spec.every:
        left_out.append(f"which GPUs ({', '.join(spec.gpus)}): Slurm chooses")
    return Emitted("\n".join(rows) + "\n", tuple(lines), tuple(left_out))


def _own_program(spec: Spec) -> list[str]:
    """enroot starts it by /etc/rc, which enters the image's folder; pyxis writes into /etc/rc.local what leaves it out.
    --container-entrypoint would start it with a command of pyxis' own as arguments (0.24, enroot_container_start)."""
    workdir = spec.one("workdir")
    first = f"echo {shlex.quote(f'cd {shlex.quote(workdir)}')}" if workdir else ":"
    return ["sh", "-c", f"{first} >/etc/rc.local && . /etc/rc", "sh"]


def pyxis(image: str) -> str:
    """enroot's way of naming a registry.

    >>> pyxis("nvcr.io/nvidia/pytorch:26.05-py3"), pyxis("rocm/pytorch:latest")
    ('nvcr.io#nvidia/pytorch:26.05-py3', 'rocm/pytorch:latest')
    """
    first, slash, rest = image.partition("/")
    return f"{first}#{rest}" if slash and ("." in first or ":" in first or first == "localhost") else image
