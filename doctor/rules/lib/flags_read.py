"""What the lint of variables (doctor/flags) finds, for the rules of the environment family: they rest on it together.

A check adds what is a fault for sure: a text that a parser takes for something else, a name that nothing reads, an
interaction that was checked against the component's code. Notes, suppositions and the rest are `doctor env`'s alone. A
pasted text shows some variables only and not what they are for: there the lint adds no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Remedy, Severity
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import unset

_UNSURE = "(not checked against the code)"
_STEERS = (
    *("AITER", "AMD", "CUB", "CUD", "CUF", "CUS", "CUT", "DEBUG", "DS", "FI_", "FLASH", "GLOO", "GPU", "HF_", "HIP"),
    *("HSA", "JAX", "KMP", "MIOPEN", "MPICH", "NCCL", "NVIDIA_TF32", "NVSHMEM", "NVTE", "OFI", "OMP", "ORT", "PYTORCH"),
    *("RAY", "RCCL", "ROC", "ROCR", "SGL", "TE_", "TENSILE", "TF_", "TORCH", "TRITON", "UCC_", "UCX_", "VLLM", "XLA"),
)
"""Beginnings of names that steer the stack: without one of them there is nothing to lint, and no table is read."""
_TERRAFORM = ("TF_CLI_", "TF_DATA_DIR", "TF_IN_AUTOMATION", "TF_LOG", "TF_PLUGIN", "TF_REGISTRY", "TF_VAR_", "TF_WORK")
"""Names of another program (developer.hashicorp.com/terraform/cli/config/environment-variables)."""
_last: list[tuple[Snapshot, tuple[Finding, ...]]] = []


def unset_named(machine: Snapshot, kb: object) -> tuple[Remedy, ...]:
    return (unset(machine, "VARIABLE", because=" (the one that the finding names)"),)


def evaluated(machine: Snapshot, rule: str, own: Iterable[Finding] = ()) -> Iterator[Finding]:
    """The rule's own findings, then those on other variables that only the lint has."""
    linted = {f.subject.id: f for f in _linted(machine) if f.rule == rule}
    for finding in own:
        linted.pop(finding.subject.id, None)
        yield finding
    if not run_line.from_text(machine, "environment"):
        sure = (f for f in linted.values() if f.severity is not Severity.INFO)
        yield from (f for f in sure if _UNSURE not in f.summary)


def _linted(machine: Snapshot) -> tuple[Finding, ...]:
    """Once a machine, for all rules."""
    if _last and _last[0][0] is machine:
        return _last[0][1]
    env = dict(machine.environment or {})
    if not any(name.startswith(_STEERS) and not name.startswith(_TERRAFORM) for name in env):
        return ()
    from doctor.flags import lint
    from doctor.flags.situation import Situation

    pasted = run_line.from_text(machine, "environment")
    places = {name: machine.source(f"environment[{name}]") for name in env} if pasted else {}
    found = lint.findings(Situation(env, machine, partial=pasted), places) if env else ()
    _last[:] = [(machine, found)]
    return found
