"""What the error texts that were seen point to: whether anything fails, and what else may be wrong."""

from __future__ import annotations

from collections.abc import Collection

from doctor.facts.snapshot import Snapshot, Symptom


def failing(machine: Snapshot, leaving_out: Collection[str] = ()) -> bool:
    """Whether an error text points to any cause on this machine."""
    return any(_causes(s, machine) for s in machine.symptoms if s.key not in leaving_out)


def pointing_to(machine: Snapshot, *rules: str, leaving_out: Collection[str] = ()) -> Symptom | None:
    """The first error text that makes one of these causes likely or certain."""
    for symptom in machine.symptoms:
        if symptom.key not in leaving_out and _causes(symptom, machine) & set(rules):
            return symptom
    return None


def _causes(symptom: Symptom, machine: Snapshot) -> set[str]:
    from doctor.triage.templates.catalogue import shared  # only a pasted text has error texts

    return {cause.rule for cause in shared().causes(symptom.key, machine) if cause.sure != "possible"}


_INSTALLER = ("nvidia-installer-build-failed", "nvidia-installer-step-failed")
BUILD_FAILED = (
    *("nvidia-module-build-failed", "nvidia-dkms-build-failed", "nvidia-dkms-module-failed"),
    *("dkms-bad-exit", "dkms-bad-exit-status", *_INSTALLER, "nvidia-dkms-script-failed"),
)
"""A driver's module was compiled, and that failed: to compile it again changes nothing."""
_NCCL = (
    *("nccl-unhandled-system-error", "nccl-system-error", "collective-cannot-reach-peer"),
    "nccl-internal-check-failed",
)


def request(machine: Snapshot, rule: str | None = None) -> str | None:
    """Where the reason stands that an error text leaves out; with a rule, of a text that points to it."""
    rows = [
        (_INSTALLER, "/var/log/nvidia-installer.log"),
        (BUILD_FAILED, "the last 50 lines of make.log (find it: `ls /var/lib/dkms/*/*/build/make.log`)"),
    ]
    if "NCCL_DEBUG" not in (machine.environment or {}):
        rows += [(_NCCL, "the output with `NCCL_DEBUG=INFO` set, and the `docker run` line if it is in a container")]
    for keys, where in rows:
        if any(s.key in keys and (rule is None or rule in _causes(s, machine)) for s in machine.symptoms):
            return where
    return None
