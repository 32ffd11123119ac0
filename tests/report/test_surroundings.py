"""What -v tells of installations, holders and changes."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.report import surroundings
from tests.rules import machines


def told(machine: Snapshot) -> list[str]:
    return [text for text, _ in surroundings.lines(machine) if text]


def test_installations_with_what_selects_them_and_what_is_hidden() -> None:
    machine = machines.build({
        "rocm[/opt/rocm-6.2.0].path": "/opt/rocm-6.2.0", "rocm[/opt/rocm-6.2.0].version": "6.2.0",
        "rocm[/opt/rocm-6.2.0].kind": "prefix", "rocm[/opt/rocm-6.2.0].selected_by": ["PATH (hipcc)", "ROCM_PATH"],
        "rocm[/opt/rocm-6.2.0].components": {"hip": "6.2.41133"},
        "cuda[/usr/local/cuda-12.4].path": "/usr/local/cuda-12.4", "cuda[/usr/local/cuda-12.4].kind": "prefix",
        "cuda[/usr/local/cuda-12.4].selected_by": [],
        "loader[libamdhip64.so.6].path": "/a/libamdhip64.so.6", "loader[libamdhip64.so.6].by": "LD_LIBRARY_PATH",
    })  # fmt: skip
    assert told(machine) == [
        "Installed",
        "  ROCm 6.2.0 in /opt/rocm-6.2.0 (prefix), selected by PATH (hipcc), ROCM_PATH",
        "    hip 6.2.41133",
        "  CUDA ? in /usr/local/cuda-12.4 (prefix), selected by nothing",
        "The loader takes",
        "  libamdhip64.so.6 from /a/libamdhip64.so.6 by LD_LIBRARY_PATH",
    ]


def test_holders_changes_and_what_could_not_be_seen() -> None:
    machine = machines.build({
        "holders[7].pid": 7, "holders[7].name": "python3\x1b[31m", "holders[7].nodes": ["/dev/kfd"],
        "holders[7].state": "D", "holders[7].kind": "program", "host.processes_seen": "own",
        "changes[1].when": "2026-11-17 06:12:01", "changes[1].package": "amdgpu-dkms", "changes[1].action": "upgrade",
        "changes[1].old": "1", "changes[1].new": "2", "host.pending_reboot": ["linux-base"],
    })  # fmt: skip
    assert told(machine) == [
        "Holding a GPU",
        "  python3?[31m (pid 7, program, waiting in the kernel): kfd",
        "  only this account's processes could be looked at",
        "Changed in the last 30 days",
        "  2026-11-17 06:12:01 upgrade amdgpu-dkms 1 -> 2",
        "  a reboot is due for linux-base",
    ]


def test_what_is_not_known_has_no_title() -> None:
    assert told(Snapshot()) == []
