from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Step, Subject, evidence
from doctor.rules.lib.advice import set_to
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.packages import family, install
from doctor.versions import Dotted

RULE = Rule(
    id="host-compiler-unsupported",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="nvcc or hipcc does not support the host compiler.",
    needs=({"host.gcc_version", "cuda"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
gcc, clang or MSVC that the toolkit rejects, or headers too new for it: a gcc above the bound of the CUDA toolkit
while something is compiled.

## Why it matters
Code for the GPU cannot be built.

## Not raised when
Nothing is compiled, the gcc or the toolkit is not known, or the gcc is within the toolkit's bound.

## How to confirm
`gcc --version` against the table of the toolkit's installation guide.

## Fix
Install a supported gcc beside the system's and select it with CUDAHOSTCXX or NVCC_PREPEND_FLAGS=-ccbin.

## References
https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """An older gcc beside the one that is there."""
    bound = _bound(machine)
    number = str(bound or "N")
    name = f"gcc {bound}" if bound else "a gcc that the toolkit supports (N: the number that the error names)"
    packages = {
        "apt": (f"gcc-{number}", f"g++-{number}"),
        "dnf": (f"gcc-toolset-{number}",) if machine.os.id != "fedora" else (f"gcc{number}-c++",),
        "zypper": (f"gcc{number}-c++",),
        "pacman": (f"gcc{number}",),
    }.get(family(machine) or "", ())
    argv = install(family(machine), *packages) if bound else None
    first = Step(text=f"Install {name} beside the current one.", command=argv)
    names = {"CC": f"gcc-{number}", "CXX": f"g++-{number}", "CUDAHOSTCXX": f"g++-{number}"}
    compile_it = set_to(machine, f"Compile with {name}.", where="the build's environment", **names)
    whole = {"steps": (first, *compile_it.steps), "effect": (), "root": argv is not None}
    return (compile_it.model_copy(update=whole),)


def _bound(machine: Snapshot) -> int | None:
    """The newest gcc that the toolkit at hand takes."""
    toolkits = [i.version for i in machine.cuda or () if i.version]
    return next((newest for first, newest in _GCC_MAX if toolkits and Dotted(toolkits[0]) >= first), None)


_BUILDS = ("build-command-failed", "nvcc-unknown-builtin-of-newer-gcc")
_GCC_MAX = (
    ("13.4", 16),
    ("13.0", 15),
    ("12.8", 14),
    ("12.4", 13),
    ("12.1", 12),
    ("11.5", 11),
    ("11.1", 10),
    ("11.0", 9),
)
"""First CUDA of a row -> newest gcc that its nvcc takes (crt/host_config.h of published nvcc wheels, 2026-11-20)."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The gcc that answers against the toolkit's own bound, while something is compiled."""
    gcc = Dotted(machine.host.gcc_version or "").major
    toolkits = [i.version for i in machine.cuda or () if i.version]
    bound = _bound(machine)
    builds = any(s.key in _BUILDS for s in machine.symptoms)
    if gcc is None or bound is None or gcc <= bound or not builds:
        return
    yield Finding(
        summary=f"gcc {gcc} is too new for CUDA {toolkits[0][:12]}, which supports {bound} at most.",
        # nvcc that does not know the GPU stopped at its own options; the newer toolkit that it takes has another bound.
        severity=Severity.INFO if machine.symptom("nvcc-unsupported-gpu-architecture") else Severity.WARNING,
        subject=Subject(kind="compiler"),
        evidence=evidence(machine, ("host.gcc_version", "cuda")),
        remedies=advice(machine, kb),
    )
