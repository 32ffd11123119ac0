from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_loading, python_plugins
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.python_packages import pip_install
from doctor.rules.lib.torch_install import torch_again

RULE = Rule(
    id="gpu-libs-not-found",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="A GPU library that a program needs is not on the library path.",
    needs=({"libraries"}, {"plugin_libraries"}, {"rocm[].missing"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A library of CUDA or ROCm (libcudart, libcudnn, libMIOpen …), or its headers, that the loader or compiler cannot find.
Or one that the HIP runtime of an installed ROCm needs.

## Why it matters
The import or the build stops.

## Not raised when
The loader, followed through RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache and the default folders, finds every library
that torch and the plugins of other frameworks (ONNX Runtime's providers, JAX's plugins, TensorFlow's and CuPy's
builds for ROCm) need, or torch opens it by its path; and no error message shows it. If another major is installed,
the framework's own rule reports it. The driver's own libraries do not count.

## How to confirm
`ldconfig -p` and `ldd FILE.so` for the file that the error names.

## Fix
Install the package that contains the library, in the release that the error names, or add its folder to the library
path.

## References
https://man7.org/linux/man-pages/man8/ld.so.8.html
""",
)


_LIBRARY = Lazy(r"\blib\w[\w+-]{1,60}\.so(?:\.\d{1,4}){0,3}(?=\W* (?:cannot open shared object|not found))")


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error text says it: torch's own wheel brings its libraries; others are found by their folder."""
    named = next((found for symptom in machine.symptoms if (found := _LIBRARY.search(symptom.text))), None)
    name, which = (named[0], "") if named else ("LIBRARY", " (LIBRARY: the name in the error)")
    where = by_hand(
        "Add the folder of the library to LD_LIBRARY_PATH.",
        Scope.ENVIRONMENT,
        f"Find it: `find / -name '{name}*' -not -path '/proc/*'`{which}.",
        "If you find none, install the package that contains it; the number after .so must be the same.",
        undo="Take the folder off LD_LIBRARY_PATH again.",
    )
    same = torch_again(machine)
    if "torch==RELEASE" in same:
        return (where,)
    again = pip_install(machine, "Install torch again with the libraries that its wheel needs.", *same)
    return again, where


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """What torch needs, and what plugins need that frameworks open by name; of others error texts tell."""
    for install in machine.rocm or ():
        for name in (install.missing or ())[:1]:
            yield Finding(
                summary=f"ROCm in {install.path} is not complete: the loader cannot find {name}, which HIP needs."[
                    :180
                ],
                subject=Subject(kind="library", id=name),
                evidence=evidence(machine, (f"rocm[{install.key}].missing",)),
                remedies=(by_hand("Install this ROCm's packages again (hip-runtime-amd).", Scope.HOST, root=True),),
                verify=("rocminfo",),
            )
    yield from python_loading.not_found(machine)
    yield from python_plugins.not_found(machine)
