from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.lost_variables import found

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-not-seen-by-service",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="A variable is set in the shell but not for the service.",
    needs=({"environment", "service_environment"}, {"lost_variables"}),
    proven="synthetic",
    explains=(
        *("amd-gpu-unsupported-by-rocm", "library-missing-gpu-arch", "framework-sees-no-gpu"),
        *("gpu-libs-not-found", "tensorflow-gpu-mismatch"),
    ),
    order=50,
    facts_decide=False,
    tags=("flags",),
    doc="""## What it finds
A service (systemd unit, container, notebook server) starts with another environment than the shell it was tried in.
Or a pasted script sets a variable and starts the program with `sudo`, in a container or over `ssh`, which do not pass
it on. With `--pid`: a process above this one has the variable, and its command does not pass it on.

## Why it matters
The same command works by hand and fails as a service.

## Not raised when
The service's own environment is not shown, or it has the same value.

## How to confirm
`tr '\\0' '\\n' < /proc/PID/environ` of the service.

## Fix
Set it in the unit or the container's run line.

## Fix safety
Restarts the service.

## References
https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment
""",
)


def _in_unit(line: str) -> Remedy:
    return way(
        "Set the variable in the service's unit (SERVICE: its name), then restart it.",
        Scope.HOST,
        step(f"Open an override and write under [Service]: {line}", "systemctl", "edit", "SERVICE"),
        step("Restart it.", "systemctl", "restart", "SERVICE"),
        root=True,
        restarts=("SERVICE",),
        undo=(step("Remove the override, then restart the service.", "systemctl", "revert", "SERVICE"),),
    )


REMEDIES = (_in_unit("Environment=NAME=VALUE"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the variables of the shell that matter to GPUs and that the service lacks."""
    yield from found(machine, session=True)
    given = machine.service_environment
    if given is None:
        return
    own = {n: v for n, v in (machine.environment or {}).items() if _MATTERS.match(n) and v and given.get(n) != v}
    lacks = sorted(name for name in own if name not in given)
    if lacks:
        yield Finding(
            summary=f"The service was started without {', '.join(lacks)[:60]}, which the shell sets.",
            severity=Severity.WARNING,
            subject=Subject(kind="variable", id=lacks[0]),
            evidence=tuple(
                Evidence(text=f"{n}={own[n][:80]}", source=machine.source(f"environment[{n}]")) for n in lacks[:8]
            ),
            explains=tuple(r for r in RULE.explains if r not in _OF_PATHS or any(map(_LEADS.search, lacks))),
            remedies=(_in_unit(" ".join(f'Environment="{n}={own[n][:120]}"' for n in lacks[:4])),),
        )


_OF_PATHS = ("gpu-libs-not-found", "tensorflow-gpu-mismatch")
"""What a variable explains that leads to libraries, and no other does."""
_LEADS = Lazy(r"PATH$|_HOME$")
_MATTERS = Lazy(
    r"HSA_\w+|(?:HIP|ROCR|CUDA|NVIDIA)_VISIBLE_DEVICES|LD_LIBRARY_PATH|OLLAMA_\w+|NCCL_\w+|(?:HIP|CUDA|ROCM)_(?:PATH|HOME)|"
    r"PYTORCH_\w+|TORCH_\w+|VLLM_\w+|GGML_\w+"
)
