"""enroot without Slurm: import, create, start. /dev and /dev/shm are the host's.

NVIDIA's hook of enroot acts on NVIDIA_VISIBLE_DEVICES and passes `utility` alone by default; there
is no hook of AMD: all devices are visible, and a variable selects those to use.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from doctor.launch.formats.slurm import DRIVER, pyxis
from doctor.launch.names import origin
from doctor.launch.spec import ON_THE_NODE, Emitted, Kind, Line, Spec, beside_gpus, bound
from doctor.launch.spec import left_out as without

SHELL = True
IMAGES = ("sqsh",)

_SHARED = {
    "device": "/dev is the host's",
    "shm": "is the host's",
    "ipc": "is the host's",
    "group": "the caller's groups stay",
}
OPTIONS: Mapping[Kind, str] = {
    "env_file": "enroot reads none: pass each variable with -e",
    "workdir": "it starts in the image's folder: change it in the command",
    "detach": "start it behind nohup",
    "entrypoint": "the image's own is started with the command behind it",
    **ON_THE_NODE,
}
_OWN = "the container has the caller's own"


def emit(spec: Spec) -> Emitted:
    env = [(p.value, p.reason) for p in spec.of("env")]
    unsaid = [p for p in spec.parts if p.kind in _UNSAID or beside_gpus(p)]
    left_out = [f"{p.kind} {p.value}: {_SHARED.get(p.kind, _OWN)}" for p in unsaid]
    left_out += without(spec, OPTIONS)
    if spec.vendor == "nvidia":
        wanted = "all" if spec.every else ",".join(spec.selectors or spec.gpus)
        env += [(f"NVIDIA_VISIBLE_DEVICES={wanted}", "which GPUs enroot's hook of NVIDIA passes"), DRIVER]
    elif spec.vendor and not spec.every:
        if spec.selectors:
            chosen = ",".join(spec.selectors)
            env.append((f"ROCR_VISIBLE_DEVICES={chosen}", "all devices are visible: this selects those that ROCm uses"))
        else:
            left_out.append(f"which GPUs ({', '.join(spec.gpus)}): all devices are seen")
    words, lines = ["enroot", "start", "--rw"], [Line("--rw", "programs write to their image's folders, as in docker")]
    for pair, reason in env:
        words += ["--env", pair]
        lines.append(Line(f"--env {pair.partition('=')[0]}", reason))
    for part in spec.of("pass_env"):
        words += ["--env", part.value]
        lines.append(Line(f"--env {part.value}", part.reason))
    for part in spec.of("mount"):
        mount = bound(part).plain
        if bound(part).read_only:  # an option takes the place of the usual ones
            mount = f"{mount},rbind,x-create=auto"
        words += ["--mount", mount]
        lines.append(Line(f"--mount {mount}", part.reason))
    lines += [Line(f"--name {part.value}", part.reason) for part in spec.of("name")]
    is_file = origin(spec.image) == "sqsh"
    held = spec.image if is_file else f"{spec.name}.sqsh"
    fetch = [shlex.join(["enroot", "import", "--output", held, f"docker://{pyxis(spec.image)}"])]
    rows = [
        *([] if is_file else fetch),
        shlex.join(["enroot", "create", "--name", spec.name, held]),
        shlex.join([*words, spec.name, *spec.command]),
    ]
    return Emitted(" &&\n".join(rows) + "\n", tuple(lines), tuple(left_out))


_UNSAID = {"ulimit", "cap", "user", "privileged", "security", "ipc", "shm", "group"}
