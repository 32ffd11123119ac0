"""The contracts of schedulers and monitors: exit codes, and one short line."""

from __future__ import annotations

import pytest

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Action, Finding, Report, Scope, Severity
from doctor.fleet.health import answer, failed
from tests.report.example import HOSTILE


def machine(gpus: int | None) -> Snapshot:
    sheet = FactSheet()
    if gpus == 0:
        sheet.put("gpus", [], "test")
    for bus in range(gpus or 0):
        sheet.put(f"gpus[0000:{bus:02x}:00.0].vendor", "amd", "test")
    return assemble([sheet])


def report(
    *severities: str,
    gpus: int | None = 8,
    summary: str = "A GPU fell off the bus.",
    scope: Scope = Scope.HARDWARE,
    action: Action = Action.DRAIN,
) -> Report:
    findings = tuple(
        Finding(rule="gpu-lost", severity=Severity(s), summary=summary, scope=scope, action=action) for s in severities
    )
    return Report(doctor="1", status="ok", findings=findings, snapshot=machine(gpus))


CONTRACTS = ("slurm-prolog", "slurm-epilog", "slurm-health", "npd", "nhc")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_an_error_is_one_and_a_warning_is_none(contract: str) -> None:
    assert answer(report("error"), contract).code == 1
    assert answer(report("warning"), contract).code == 0
    assert answer(report("warning"), contract, fail_on="warning").code == 1
    assert answer(report(), contract).line == "doctor: ok, 8 GPUs"


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("scope", [Scope.ENVIRONMENT, Scope.JOB, Scope.CONTAINER])
def test_somebody_s_environment_drains_no_node(contract: str, scope: Scope) -> None:
    assert answer(report("error", scope=scope, action=Action.RECONFIGURE), contract).code == 0


def test_with_a_scope_every_error_of_that_scope_counts_and_no_other() -> None:
    said = report("error", scope=Scope.HOST, action=Action.RECONFIGURE)
    assert answer(said, "npd").code == 0
    assert answer(said, "npd", scope="host").code == 1
    assert answer(said, "npd", scope="driver").code == 0
    assert answer(report(gpus=7), "npd", scope="hardware", gpus=8).code == 1
    assert answer(report(gpus=7), "npd", scope="driver", gpus=8).code == 0


@pytest.mark.parametrize("contract", CONTRACTS)
def test_fewer_gpus_than_asked_for_are_an_error_and_unknown_ones_are_none(contract: str) -> None:
    assert answer(report(gpus=7), contract, gpus=8).line == "doctor: 7 of 8 GPUs found"
    assert answer(report(gpus=0), contract, gpus=8).code == 1
    unknown = answer(report(gpus=None), contract, gpus=8)
    assert (unknown.code, unknown.line) == (2 if contract == "npd" else 0, "doctor: GPUs could not be checked")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_fault_of_the_doctor_drains_no_node(contract: str) -> None:
    assert failed(contract, "MemoryError").code == (2 if contract == "npd" else 0)


@pytest.mark.parametrize("summary", [HOSTILE, "ü" * 500, "x" * 500])
def test_the_line_for_npd_has_at_most_80_bytes(summary: str) -> None:
    said = answer(report("error", "error", summary=summary), "npd")
    assert len(said.line.encode()) <= 80
    assert said.line.isprintable()
    assert said.line.endswith("(and 1 more)")


def test_a_prolog_speaks_to_stderr_since_slurm_reads_its_stdout() -> None:
    assert answer(report("error"), "slurm-prolog").to_stderr
    assert not answer(report("error"), "slurm-health").to_stderr
