"""The remedy of a compiler that is not of torch's CUDA or ROCm: the toolkit that is, by its folder or its package."""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot
from doctor.findings import Remedy, Scope, Step
from doctor.rules.lib.advice import set_to, step, way
from doctor.rules.lib.nvidia_packages import cuda_toolkit
from doctor.rules.lib.packages import family, install
from doctor.rules.lib.pip import python_of
from doctor.versions import Dotted


def toolkit_of_torch(machine: Snapshot, release: str | None = None) -> tuple[Remedy, ...]:
    """Point the build at the toolkit that is installed, else install it from the vendor's repository first. `release`:
    torch's, where the facts do not have it."""
    torch = machine.torch
    amd = torch.build == "rocm" or (bool(machine.of_vendor("amd")) and not machine.of_vendor("nvidia"))
    name, installs = ("ROCM_HOME", machine.rocm) if amd else ("CUDA_HOME", machine.cuda)
    ours = Dotted((torch.rocm or torch.hip if amd else torch.cuda) or release or "").series(2) or ""
    here = next((i.path for i in installs or () if i.version and Dotted(i.version).series(2) == ours), None)
    label = f"{'ROCm' if amd else 'CUDA'} {ours}".strip()
    if here:
        return (set_to(machine, f"Compile with the {label} that is installed.", where="the build", **{name: here}),)
    if not ours:
        what = "ROCm" if amd else "CUDA"
        see = f'print(__import__("torch").version.{"hip" if amd else "cuda"})'
        steps = (
            step(f"Show {what}'s release that torch was built with.", python_of(machine), "-c", see),
            step(
                f"Set {name} to the folder of that release's toolkit (install it if it is missing), then build again.",
                where="environment",
            ),
        )
        back = (step(f"Restore the old value of {name}.", where="environment"),)
        return (way(f"Compile with the {what} toolkit of torch's release.", Scope.ENVIRONMENT, *steps, undo=back),)
    series = ours
    path = f"/opt/rocm-{series}.0" if amd else f"/usr/local/cuda-{series}"
    package = f"rocm-dev{series}.0"
    argv = None if family(machine) == "pacman" else install(family(machine), package)
    of_amd = (Step(text=f"Install {package} from AMD's repository.", command=argv),)
    first = of_amd if amd else cuda_toolkit(machine, series)
    build = set_to(machine, f"Install the toolkit of {label} and compile with it.", where="the build", **{name: path})
    return (build.model_copy(update={"steps": (*first, *build.steps), "root": True, "effect": ()}),)
