"""What can be wrong on a Mac: of the causes of CUDA's and ROCm's stacks, next to none."""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot

HOLD = frozenset(
    {
        "os-without-cuda-or-rocm",
        "container-engine-no-gpu-support",
        "install-path-has-space",
        "numpy-abi-mismatch",
        "python-user-site-leak",
        "python-version-unsupported",
    }
)
"""Rules whose cause and fix are the same on macOS."""


def is_mac(machine: Snapshot) -> bool:
    """macOS, and nothing known of a machine with a GPU stack beside it, of which the text then is."""
    if machine.os.id != "macos":
        return False
    from doctor.intake.mac import shows_a_stack

    return not shows_a_stack(machine)


def holds(rule: str, machine: Snapshot) -> bool:
    return rule in HOLD or not is_mac(machine)
