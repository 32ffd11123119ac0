"""nofile-limit-too-low: a low limit, and files that several processes could not load."""

from __future__ import annotations

from doctor.rules.access import nofile_limit_too_low as rule
from doctor.triage.read import read_text
from tests.rules.driver.asked import told

LIMIT = "open files                          (-n) 1024\n"
FAILS = "rocblaslt error: Could not load torch/lib/hipblaslt/library/TensileLibrary_lazy_gfx942.dat\n"
TWO = "".join(
    f"*******\nAgent {n}\n*******\n  Name:                    gfx942\n  Vendor Name:             AMD\n"
    "  Device Type:             GPU\n"
    for n in (2, 3)
)


def level(text: str) -> list[str]:
    return [row[0] for row in told(rule, read_text([text.encode()]))]


def test_without_a_failure_or_with_one_gpu_it_is_no_more_than_information() -> None:
    assert level(f"```\n{TWO}```\n```\n{LIMIT}```\n") in ([], ["info"])
    assert level(f"```\n{FAILS}```\n```\n{LIMIT}```\n") in ([], ["info"])


def test_a_high_or_unknown_limit_is_no_fault() -> None:
    assert level(f"```\n{FAILS}```\n```\n{TWO}```\n") == []
    assert level(f"```\n{FAILS}```\n```\n{TWO}```\n```\nopen files                          (-n) 65535\n```\n") == []
