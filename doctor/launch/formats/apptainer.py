"""Apptainer: the caller stays who they are, and sees the host's /dev/shm; `--rocm` and `--nv` bind the devices.

Variables go by APPTAINERENV_NAME, since `--env` would split a value at its commas, and with `--no-eval` (1.1 and
later), since a shell in the container would expand `$(…)` in them otherwise.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from doctor.errors import InputError
from doctor.launch.names import origin
from doctor.launch.spec import ON_THE_NODE, Emitted, Kind, Line, Spec, beside_gpus, bound, left_out

SHELL = True
IMAGES = ("sif", "library", "oras", "docker-archive")

_BIND = {
    "amd": ("--rocm", "binds /dev/kfd, /dev/dri and what ROCm's list names"),
    "nvidia": ("--nv", "binds the driver's nodes and libraries"),
}
_SELECT = {"amd": "ROCR_VISIBLE_DEVICES", "nvidia": "CUDA_VISIBLE_DEVICES"}
_SPECIAL = ("PREPEND_PATH", "APPEND_PATH")
"""APPTAINERENV_… of these add to the path instead of setting a variable (apptainer.org, environment)."""
_GIVEN = {
    "ulimit": "the container has the caller's own limits",
    "cap": "the container has the caller's own capabilities",
    "user": "the container runs as the caller",
    "privileged": "nothing here is more than the caller may do",
    "security": "no filter of system calls is set",
    "ipc": "the host's is used already",
    "shm": "the host's /dev/shm is seen",
    "group": "the caller's groups stay",
}

_UNSAID: Mapping[Kind, str] = {
    "name": "what runs here has no name (apptainer instance has)",
    "detach": "start it behind nohup, or as an apptainer instance",
    **ON_THE_NODE,
}


def emit(spec: Spec) -> Emitted:
    env = {p.value.partition("=")[0]: (p.value.partition("=")[2], p.reason) for p in spec.of("env")}
    if spec.vendor and not spec.every and spec.selectors:
        env[_SELECT[spec.vendor]] = (
            ",".join(spec.selectors),
            "all devices are bound: this selects those that the runtime uses",
        )
    if special := next((name for name in env if name in _SPECIAL), None):
        raise InputError(f"--emit apptainer: {special} can't be set as a variable there; set it in the command")
    lines = [Line(f"APPTAINERENV_{name}", reason) for name, (_, reason) in env.items()]
    program = spec.one("entrypoint")
    command = (*([program] if program else []), *spec.command)
    words = ["apptainer", "run" if program is None else "exec", "--no-eval"]
    lines.append(Line("--no-eval", "values stay text: a shell would expand $(…) in them otherwise"))
    if spec.vendor:
        words.append(_BIND[spec.vendor][0])
        lines.append(Line(*_BIND[spec.vendor]))
    for option, value, reason in _options(spec):
        words += [option, value]
        lines.append(Line(f"{option} {value}", reason))
    words.append(f"docker://{spec.image}" if origin(spec.image) == "registry" else spec.image)
    lines += [Line(part.value, f"{part.reason}, with all of the caller's variables") for part in spec.of("pass_env")]
    lines += [Line(f"exec {part.value}".rstrip(), part.reason) for part in spec.of("entrypoint")]
    assigned = [f"APPTAINERENV_{name}={value}" for name, (value, _) in env.items()]
    start = ["env", *assigned] if assigned else []
    return Emitted(shlex.join([*start, *words, *command]) + "\n", tuple(lines), tuple(_left_out(spec)))


def _options(spec: Spec) -> Iterator[tuple[str, str, str]]:
    for part in spec.of("mount"):
        yield "--bind", bound(part).plain, part.reason
    for part in spec.of("env_file"):
        yield "--env-file", part.value, f"{part.reason}; Apptainer reads it as shell: quote what holds spaces"
    for part in spec.of("workdir"):
        yield "--pwd", part.value, part.reason
    if spec.one("network") == "none":
        yield "--net", "--network=none", next(spec.of("network")).reason


def _left_out(spec: Spec) -> Iterator[str]:
    yield "writes to the image's folders: they are read-only there (--writable-tmpfs keeps writes in memory)"
    if spec.one("workdir") is None:
        yield "the image's working directory: it starts in your current one (-w sets another)"
    yield from left_out(spec, {k: why for k, why in _UNSAID.items() if k != "network" or spec.one(k) != "none"})
    for part in spec.parts:
        if beside_gpus(part):
            yield f"device {part.value}: the host's /dev is seen"
        elif part.kind in _GIVEN:
            yield f"{part.kind} {part.value}: {_GIVEN[part.kind]}"
    if spec.vendor and not spec.every and not spec.selectors:
        yield f"which GPUs ({', '.join(spec.gpus)}): all devices are bound, and no number of theirs is sure"
