"""Rules that rest on the lint of variables: in a check, not in a pasted text, and not on an unknown environment."""

from __future__ import annotations

import pytest

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.rules.flags import collective_flag_misconfigured, debug_flag_left_on, env_flag_unknown_or_renamed
from doctor.rules.tools import env_flags_conflict, env_value_misread
from tests.rules import machines


def found(rule: object, environment: dict[str, str] | None) -> list[Finding]:
    machine = machines.mi300x_host({"environment": environment})
    return list(rule.check(machine, Knowledge(), None))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("rule", "fires", "spares"),
    [
        (env_value_misread, {"HIP_FORCE_DEV_KERNARG": "True"}, {"HIP_FORCE_DEV_KERNARG": "true"}),
        (env_value_misread, {"FI_EFA_FORK_SAFE": "maybe"}, {"FI_EFA_FORK_SAFE": "yes"}),
        (
            env_flags_conflict,
            {"XLA_CLIENT_MEM_FRACTION": ".8", "XLA_PYTHON_CLIENT_MEM_FRACTION": ".9"},
            {"XLA_CLIENT_MEM_FRACTION": ".8"},
        ),
        (collective_flag_misconfigured, {"TORCH_NCCL_BLOCKING_WAIT": "on"}, {"TORCH_NCCL_BLOCKING_WAIT": "1"}),
        (env_flag_unknown_or_renamed, {"HSA_NO_SCRATCH_RECLAMI": "1"}, {"HSA_NO_SCRATCH_RECLAIM": "1"}),
    ],
)
def test_it_fires_and_spares(rule: object, fires: dict[str, str], spares: dict[str, str]) -> None:
    assert [f.subject.id in fires for f in found(rule, fires)] == [True]
    assert found(rule, spares) == []
    assert found(rule, None) == []


def test_a_variable_has_one_finding_a_rule_and_no_id_of_the_lint_in_its_evidence() -> None:
    (finding,) = found(debug_flag_left_on, {"AMD_SERIALIZE_KERNEL": "3"})
    assert [e.text for e in finding.evidence] == ["AMD_SERIALIZE_KERNEL=3"]


def test_a_warning_that_was_checked_against_code_is_raised_and_a_note_is_not() -> None:
    assert [f.subject.id for f in found(env_flags_conflict, {"HIP_FORCE_DEV_KERNARG": "0"})] == [
        "HIP_FORCE_DEV_KERNARG"
    ]
    assert found(env_flags_conflict, {"GPU_DEVICE_ORDINAL": "0"}) == []


def test_nothing_is_said_without_an_environment() -> None:
    assert list(env_value_misread.check(Snapshot(), Knowledge(), None)) == []


@pytest.mark.parametrize(("torch", "subjects"), [(True, ["CUDA_HOME", "HOME"]), (False, ["CUDA_HOME"])])
def test_a_variable_that_leads_nowhere(torch: bool, subjects: list[str]) -> None:
    dead = {"CUDA_HOME": "points to /x, which is not there", "HOME": "points to /, which is read-only"}
    machine = machines.mi300x_host({"dead_paths": dead, "torch.installed": torch, "environment": {}})
    assert [f.subject.id for f in env_value_misread.check(machine, Knowledge(), None)] == subjects
