"""enroot without Slurm: import, create, start. /dev and /dev/shm are the host's.

NVIDIA's hook of enroot acts on NVIDIA_VISIBLE_DEVICES and gives `utility` alone unless told more; there is no hook of
AMD: all devices are seen, and the runtime library is told which to use.
"""

from __future__ import annotations

import shlex

from doctor.launch.formats.slurm import DRIVER, pyxis
from doctor.launch.spec import Emitted, Line, Spec, beside_gpus

_SHARED = {
    "device": "/dev is the host's",
    "shm": "is the host's",
    "ipc": "is the host's",
    "group": "the caller's groups stay",
}
_OWN = "the container has the caller's own"


def emit(spec: Spec) -> Emitted:
    env = [(p.value, p.reason) for p in spec.of("env")]
    unsaid = [p for p in spec.parts if p.kind in _UNSAID or beside_gpus(p)]
    left_out = [f"{p.kind} {p.value}: {_SHARED.get(p.kind, _OWN)}" for p in unsaid]
    if spec.vendor == "nvidia":
        wanted = "all" if spec.every else ",".join(spec.selectors or spec.gpus)
        env += [(f"NVIDIA_VISIBLE_DEVICES={wanted}", "which GPUs enroot's hook of NVIDIA passes"), DRIVER]
    elif spec.vendor and not spec.every:
        if spec.selectors:
            chosen = ",".join(spec.selectors)
            env.append((f"ROCR_VISIBLE_DEVICES={chosen}", "all devices are seen: ROCm is told which to use"))
        else:
            left_out.append(f"which GPUs ({', '.join(spec.gpus)}): all devices are seen")
    words, lines = ["enroot", "start", "--rw"], [Line("--rw", "programs write to their image's folders, as in docker")]
    for pair, reason in env:
        words += ["--env", pair]
        lines.append(Line(f"--env {pair.partition('=')[0]}", reason))
    for part in spec.of("mount"):
        words += ["--mount", part.value]
        lines.append(Line(f"--mount {part.value}", part.reason))
    held = f"{spec.name}.sqsh"
    rows = [
        shlex.join(["enroot", "import", "--output", held, f"docker://{pyxis(spec.image)}"]),
        shlex.join(["enroot", "create", "--name", spec.name, held]),
        shlex.join([*words, spec.name, *spec.command]),
    ]
    return Emitted(" &&\n".join(rows) + "\n", tuple(lines), tuple(left_out))


_UNSAID = {"ulimit", "cap", "user", "privileged", "security", "ipc", "shm", "group"}
