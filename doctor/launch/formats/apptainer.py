"""Apptainer: the caller stays who they are, and sees the host's /dev/shm; `--rocm` and `--nv` bind the devices.

Variables go by APPTAINERENV_NAME, since `--env` would split a value at its commas.
"""

from __future__ import annotations

import shlex

from doctor.launch.spec import Emitted, Line, Spec

_BIND = {
    "amd": ("--rocm", "binds /dev/kfd, /dev/dri and what ROCm's list names"),
    "nvidia": ("--nv", "binds the driver's nodes and libraries"),
}
_SELECT = {"amd": "ROCR_VISIBLE_DEVICES", "nvidia": "CUDA_VISIBLE_DEVICES"}
_KEPT = {"env", "mount"}
_IMPLIED = {"device", "cdi", "gpus", "runtime", "group", "shm", "ipc", "user"}


def emit(spec: Spec) -> Emitted:
    lines = []
    env = {f"APPTAINERENV_{name}": value for name, value in spec.env.items() if not name.startswith("NVIDIA_")}
    lines += [Line(f"APPTAINERENV_{p.value.partition('=')[0]}", p.reason) for p in spec.of("env")]
    words = ["apptainer", "exec" if spec.command else "run"]
    if spec.vendor:
        words.append(_BIND[spec.vendor][0])
        lines.append(Line(*_BIND[spec.vendor]))
        if not spec.every and not any(":" in name for name in spec.gpus):
            name = _SELECT[spec.vendor]
            env[f"APPTAINERENV_{name}"] = ",".join(spec.gpus)
            lines.append(Line(f"APPTAINERENV_{name}", "all devices are bound: the runtime is told which to use"))
    for part in spec.of("mount"):
        words += ["--bind", part.value]
        lines.append(Line(f"--bind {part.value}", part.reason))
    words.append(f"docker://{spec.image}")
    assigned = [f"{name}={value}" for name, value in env.items()]
    start = ["env", *assigned] if assigned else []
    left_out = [f"{p.kind} {p.value}: the container has the caller's own" for p in spec.parts if _unsaid(p.kind)]
    if spec.vendor and any(":" in name for name in spec.gpus):
        left_out.append(f"which partitions ({', '.join(spec.gpus)}): all devices are bound")
    return Emitted(shlex.join([*start, *words, *spec.command]) + "\n", tuple(lines), tuple(left_out))


def _unsaid(kind: str) -> bool:
    return kind not in _KEPT | _IMPLIED
