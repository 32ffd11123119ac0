"""What real machines with real faults printed, read and judged: the rules that call themselves `replay`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from doctor.engine import registry
from doctor.engine.judge import judge
from doctor.facts import FactSheet, assemble
from doctor.knowledge import Knowledge
from doctor.parsers.kernel import kernel_log
from doctor.parsers.nvidia import nvidia_smi_query
from tests.paths import FIELDLAB, needs_shared

pytestmark = needs_shared
Read = Callable[[str], FactSheet]

REPLAYS: tuple[tuple[str, Read, str, str, str], ...] = (
    ("nvidia-xid119-gsp-timeout-kmsg-gpud/dmesg-T.log", kernel_log.read, "nvidia-xid-fatal", "error", "0000:9b:00.0"),
    ("nvidia-a100sxmx4-gls/nvidia-smi-q.txt", nvidia_smi_query.read, "gpu-ecc-errors", "warning", "0000:9e:00.0"),
    ("nvidia-gh200-gls/nvidia-smi-q.txt", nvidia_smi_query.read, "gpu-ecc-errors", "info", "0000:dd:00.0"),
    (
        "amd-rx6700xt-ring-timeout-reset-ok-journal/journal.txt",
        kernel_log.read,
        "amdgpu-gpu-hang",
        "warning",
        "0000:0b:00.0",
    ),
)


@pytest.mark.parametrize(("path", "read", "rule", "severity", "gpu"), REPLAYS)
def test_a_fault_that_was_captured_is_found(path: str, read: Read, rule: str, severity: str, gpu: str) -> None:
    report = judge(assemble([read((FIELDLAB / path).read_text(errors="replace"))]), Knowledge())
    assert (rule, severity, gpu) in {(f.rule, f.severity.value, f.subject.id) for f in report.findings}


def test_every_driver_rule_that_says_replay_is_replayed() -> None:
    """gpu-bound-to-other-driver is replayed by the card of test_fieldlab_roots that the radeon driver owns."""
    said = {c.rule.id for c in registry.checks() if c.rule.proven == "replay" and "driver" in c.run.__module__}
    assert said == {rule for _, _, rule, _, _ in REPLAYS} | {"gpu-bound-to-other-driver"}
