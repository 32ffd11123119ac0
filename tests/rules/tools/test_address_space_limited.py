"""address-space-limited: `ulimit -v` below the memory of the GPUs."""

from __future__ import annotations

from doctor.rules.tools import address_space_limited as rule
from tests.rules import machines
from tests.rules.driver.asked import told


def test_a_limit_below_the_memory_of_the_gpus() -> None:
    (row,) = told(rule, machines.h100_host({"host.as_bytes": 16 << 30}))
    assert row[0] == "error"


def test_no_limit_or_a_large_one() -> None:
    for limit in (-1, 1 << 50):
        assert told(rule, machines.h100_host({"host.as_bytes": limit})) == []
