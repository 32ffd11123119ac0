"""MASTER_ADDR of the machine itself, in a job of several nodes."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.facts import FactSheet, assemble
from doctor.knowledge import Knowledge


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({"MASTER_ADDR": "localhost", "SLURM_JOB_NUM_NODES": "2"}, True),
        ({"MASTER_ADDR": "127.0.0.1", "GROUP_WORLD_SIZE": "4"}, True),
        ({"MASTER_ADDR": "localhost", "SLURM_JOB_NUM_NODES": "1"}, False),
        ({"MASTER_ADDR": "node1", "SLURM_JOB_NUM_NODES": "2"}, False),
        ({"MASTER_ADDR": "localhost"}, False),
    ],
)
def test_each_node_waits_for_itself(env: dict[str, str], found: bool) -> None:
    sheet = FactSheet()
    for name, value in env.items():
        sheet.put(f"environment[{name}]", value, "test")
    findings = judge(assemble([sheet]), Knowledge()).findings
    assert ("env-flag-not-passed-on" in {f.rule for f in findings}) is found
