"""Layers, status and exit code: what was not checked is never fine."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.engine.verdict import exit_code
from doctor.errors import ExitCode
from doctor.findings import Report
from doctor.knowledge import Knowledge
from tests.rules import machines

KB = Knowledge()


def of(facts: machines.Facts, **how: int) -> Report:
    return judge(machines.h100_host(facts), KB, **how)  # type: ignore[arg-type]


def test_a_finding_is_a_problem_of_its_layer() -> None:
    report = of({"nvidia_driver.user_version": "580.95.05"})
    assert (report.status, report.layers["driver"]) == ("error", "problem")


@pytest.mark.parametrize(
    ("status", "layers", "strict", "code"),
    [
        ("ok", {"gpu": "ok", "driver": "ok", "devices": "ok", "libraries": "ok", "torch": "not-applicable"}, True, 0),
        ("partial", {"gpu": "ok", "driver": "unknown", "devices": "ok", "libraries": "ok", "torch": "ok"}, True, 4),
        ("partial", {"gpu": "ok", "driver": "unknown", "devices": "ok", "libraries": "ok", "torch": "ok"}, False, 0),
        ("unknown", {}, True, 4),
    ],
)
def test_strict_asks_for_every_layer_that_matters(status: str, layers: dict[str, str], strict: bool, code: int) -> None:
    report = Report(doctor="0", status=status, layers=layers)
    assert exit_code(report, "error", strict=strict) == ExitCode(code)


def test_fewer_gpus_than_expected_is_an_error() -> None:
    count = len(machines.h100_host({}).gpus or ())
    assert exit_code(of({}, expect_gpus=count + 1), "error", strict=True) == ExitCode.FINDINGS
    assert "are expected here" not in " ".join(f.summary for f in of({}, expect_gpus=count).findings)


def test_no_gpu_is_unknown_unless_none_is_expected() -> None:
    bare = machines.build({"gpus": [], "nodes": [], "environment": {}, "torch.installed": False})
    assert judge(bare, KB).status == "unknown"
    none = judge(bare, KB, expect_gpus=0)
    assert (none.layers["gpu"], exit_code(none, "error", strict=True)) == ("not-applicable", ExitCode.OK)
