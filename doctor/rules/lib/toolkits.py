"""The remedy of a compiler that is not of torch's CUDA or ROCm: the toolkit that is, by its folder or its package."""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot
from doctor.findings import Remedy, Scope, Step
from doctor.rules.lib.advice import set_to, step, way
from doctor.rules.lib.packages import family, install
from doctor.versions import Dotted


def toolkit_of_torch(machine: Snapshot) -> tuple[Remedy, ...]:
    """Point the build at the toolkit that is installed, else install it from the vendor's repository first."""
    torch = machine.torch
    amd = torch.build == "rocm" or (bool(machine.of_vendor("amd")) and not machine.of_vendor("nvidia"))
    name, installs = ("ROCM_HOME", machine.rocm) if amd else ("CUDA_HOME", machine.cuda)
    ours = Dotted((torch.rocm or torch.hip if amd else torch.cuda) or "").series(2) or ""
    here = next((i.path for i in installs or () if i.version and Dotted(i.version).series(2) == ours), None)
    label = f"{'ROCm' if amd else 'CUDA'} {ours}".strip()
    if here:
        return (set_to(machine, f"Compile with the {label} that is installed.", where="the build", **{name: here}),)
    if not ours:
        title = f"Install the toolkit of torch's {label} release and point {name} at it."
        see = step(
            "Show the release.", "python3", "-c", f'print(__import__("torch").version.{"hip" if amd else "cuda"})'
        )
        back = (step(f"Restore the old value of {name}.", where="environment"),)
        return (way(title, Scope.ENVIRONMENT, see, undo=back),)
    series = ours
    path = f"/opt/rocm-{series}.0" if amd else f"/usr/local/cuda-{series}"
    package = f"rocm-dev{series}.0" if amd else f"cuda-toolkit-{series.replace('.', '-')}"
    argv = install(family(machine), package)
    first = Step(text=f"Install {package} from {'AMD' if amd else 'NVIDIA'}'s repository.", command=argv)
    build = set_to(machine, f"Install the toolkit of {label} and compile with it.", where="the build", **{name: path})
    return (build.model_copy(update={"steps": (first, *build.steps), "root": True, "effect": ()}),)
