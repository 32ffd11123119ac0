"""The vendors' tools that answer late or not at all."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not, told

_SLOW = "smi-tool-slow"

test_named = names(
    [
        # A program that stopped waiting.
        ("subprocess.TimeoutExpired: Command '['nvidia-smi', '-L']' timed out after 10 seconds", _SLOW),
        ("subprocess.TimeoutExpired: Command '/opt/rocm/bin/rocm-smi --showuse' timed out after 30 seconds", _SLOW),
        ('level=error msg="nvidia-smi: context deadline exceeded"', _SLOW),
        ("timed out waiting for amd-smi", _SLOW),
        ('Hung("/usr/bin/nvidia-smi pmon -c 1")', _SLOW),
        # The kernel and ps.
        ("INFO: task nvidia-smi:31337 blocked for more than 120 seconds.", _SLOW),
        ("root     31337  0.0  0.0  21340  4096 ?        D    09:12   0:00 nvidia-smi -q -x", _SLOW),
        ("amd-smi processes pile up in D state", _SLOW),
        ("nvidia-smi is stuck, process in uninterruptible sleep", _SLOW),
        ("nvidia-smi stuck forever", _SLOW),
        # People.
        ("nvidia-smi hangs on one node of the cluster", _SLOW),
        ("rocm-smi never returns", _SLOW),
        ("nvmlInit() blocks for good", _SLOW),
        ("amdsmi_init does not return", _SLOW),
        ("nvidia-smi sometimes answers very late", _SLOW),
        ("nvidia-smi stalls for up to 15-20 s", _SLOW),
        ("rocm-smi takes 5 seconds per call", _SLOW),
        ("gpuagent needs about 8 s per query", _SLOW),
        ("amd-smi has 3.5 s of latency", _SLOW),
    ]
)

test_not_named = names_not(
    [
        ("nvidia-smi works, but training hangs", _SLOW),
        ("nvidia-smi shows the GPU and the job hangs", _SLOW),
        ("if nvidia-smi hangs, reboot the node", _SLOW),
        ("the probe no longer fails when nvidia-smi is absent and never hangs", _SLOW),
        ("nvidia-smi does not return any GPU", _SLOW),
        ("nvidia-smi is stuck at 100% utilization", _SLOW),
        ("add a timeout for nvidia-smi", _SLOW),
        ("nvidia-smi -l 5 blocks the terminal", _SLOW),
        ("nvidia-smi dmon hangs around until ctrl-c", _SLOW),
        ("the exporter runs nvidia-smi in a thread so that a hang never blocks it", _SLOW),
        ("nvidia-smi is fine, program stuck in D state", _SLOW),
        ("user  12  0.0  0.1  12  22 ?  Ds  01:01  0:00 docker run nvidia/cuda nvidia-smi", _SLOW),
        ("amd-smi needs 20 minutes to install", _SLOW),
        ("run it with a timeout while calling nvidia-smi", _SLOW),
        ("the timeout of nvidia-smi can be set", _SLOW),
        ("root     31337  0.0  0.0  21340  4096 ?        S    09:12   0:00 nvidia-smi -q -x", _SLOW),
        ("INFO: task python3:31337 blocked for more than 120 seconds.", _SLOW),
        ("rocm-smi takes 200 ms per call", _SLOW),
        ("amd-smi slows down nothing", _SLOW),
        # Read in milliseconds, the tool isn't slow at all.
        ("nvidia-smi takes 10-20ms", "persistence-mode-off"),
        ("nvidia-smi takes 14 ms", "persistence-mode-off"),
        ("nvidia-smi takes about 12 ms", "persistence-mode-off"),
    ]
)


def test_a_fatal_xid_explains_the_tool_that_hangs() -> None:
    found = told("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\nnvidia-smi hangs")
    assert _SLOW not in found, found
    assert found[:1] == ["nvidia-xid-fatal"], found
