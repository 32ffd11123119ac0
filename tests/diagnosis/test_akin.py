"""A second cause where both show the same signs: named last, and never against what is known."""

import json
from collections.abc import Sequence

import pytest

from doctor.diagnosis.akin import HEALTHY_AT_MOST, WORDS_SPEAK, with_akin
from doctor.diagnosis.judge import judge
from doctor.diagnosis.registry import checks
from doctor.facts import Snapshot
from doctor.facts.snapshot import Resemblance
from doctor.findings import Finding, Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.knowledge.akin import DATA, Akin
from doctor.knowledge.wording import HEALTHY

CHECKS = {check.rule.id: check for check in checks()}
GROUPS, NODES = "container-render-group-mismatch", "device-node-permission"
RUNTIME, ENGINE = "container-runtime-not-configured", "container-engine-no-gpu-support"


def found(rule: str, severity: Severity = Severity.WARNING, **more: object) -> Finding:
    return Finding(rule=rule, severity=severity, summary="told", basis="symptom").model_copy(update=more)


def said(**shares: float) -> Snapshot:
    """A text whose words speak for these causes."""
    likes = (Resemblance(cause=cause.replace("_", "-"), share=share) for cause, share in shares.items())
    return Snapshot(resembles=tuple(likes))


def named(
    findings: Sequence[Finding], machine: Snapshot, told: Sequence[str], ruled_out: Sequence[str] = ()
) -> list[str]:
    beside = with_akin(findings, machine, CHECKS, ruled_out, told)
    return [f.rule for f in beside if f.severity is not Severity.INFO]


COMPLAINT = said(container_render_group_mismatch=0.9)


def test_an_account_that_may_not_open_the_nodes_stands_beside_groups_that_do_not_match() -> None:
    [told, beside] = with_akin([found(GROUPS)], COMPLAINT, CHECKS, (), {GROUPS})
    assert (told.rule, beside.rule, beside.severity, beside.basis) == (GROUPS, NODES, Severity.WARNING, "symptom")
    assert beside.summary.startswith("Shows the same signs: this account may not open")
    assert GROUPS in beside.evidence[0].text
    assert (beside.explains, beside.ask is not None) == ((), True)


def test_a_remark_of_the_text_that_fits_becomes_the_warning() -> None:
    remark = found(NODES, Severity.INFO, summary="from the text")
    [_, beside] = with_akin([found(GROUPS), remark], COMPLAINT, CHECKS, (), {GROUPS})
    assert (beside.summary, beside.severity) == ("from the text", Severity.WARNING)


def test_none_stands_beside_what_is_sure_or_beside_two() -> None:
    assert named([found(GROUPS, Severity.ERROR)], COMPLAINT, [GROUPS]) == [GROUPS]
    two = [found(GROUPS), found("container-shm-too-small")]
    assert named(two, COMPLAINT, [GROUPS]) == [GROUPS, "container-shm-too-small"]


def test_what_facts_ruled_out_or_remark_on_and_what_is_folded_is_not_named_again() -> None:
    assert named([found(GROUPS)], COMPLAINT, [GROUPS], [NODES]) == [GROUPS]
    assert named([found(GROUPS), found(NODES, Severity.INFO, basis="facts")], COMPLAINT, [GROUPS]) == [GROUPS]
    assert named([found(GROUPS), found(NODES, Severity.INFO, explained_by="x")], COMPLAINT, [GROUPS]) == [GROUPS]


def test_what_follows_from_the_told_cause_is_no_second_one() -> None:
    told = found("nvidia-kernel-incompatible", explains=("nvidia-driver-not-loaded",))
    machine = said(nvidia_kernel_incompatible=0.9)
    assert named([told], machine, [told.rule]) == [told.rule]
    assert named([told.model_copy(update={"explains": ()})], machine, [told.rule])[1:] == ["nvidia-driver-not-loaded"]


def test_none_stands_beside_facts_or_beside_a_suspicion_from_words() -> None:
    assert named([found(GROUPS, basis="both")], COMPLAINT, [GROUPS]) == [GROUPS]
    assert named([found(GROUPS)], COMPLAINT, []) == [GROUPS]


def test_none_stands_beside_what_answers_by_itself() -> None:
    machine = said(known_bad_library_version=0.6, companion_kernel_lib_outdated=0.3)
    assert named([found("known-bad-library-version")], machine, ["known-bad-library-version"]) == [
        "known-bad-library-version"
    ]


def test_none_where_nobody_complains_or_where_it_may_be_that_nothing_is_wrong() -> None:
    assert named([found(GROUPS)], Snapshot(), [GROUPS]) == [GROUPS]
    healthy = said(container_render_group_mismatch=0.9, **{HEALTHY: HEALTHY_AT_MOST + 0.01})
    assert named([found(GROUPS)], healthy, [GROUPS]) == [GROUPS]


def test_a_cause_that_fits_at_times_needs_words_that_speak_for_it() -> None:
    told = found(RUNTIME, Severity.ERROR)
    machine = said(container_runtime_not_configured=0.9, container_engine_no_gpu_support=WORDS_SPEAK)
    assert named([told], machine, [RUNTIME]) == [RUNTIME, ENGINE]
    fewer = said(container_runtime_not_configured=0.9, container_engine_no_gpu_support=WORDS_SPEAK - 0.01)
    assert named([told], fewer, [RUNTIME]) == [RUNTIME]


def test_words_for_a_cause_that_never_fits_add_nothing() -> None:
    machine = said(container_runtime_not_configured=0.5, gpu_throttled=0.4)
    assert named([found(RUNTIME)], machine, [RUNTIME]) == [RUNTIME]


COUNTS = Akin({"a": {"texts": 8, "fit": {"b": 5}}, "b": {"texts": 3, "fit": {"a": 1}}})


def test_how_often_a_cause_fits_and_is_behind_another_is_counted_with_doubt() -> None:
    assert COUNTS.fair("a", "b") == 5 / 10
    assert COUNTS.behind("b", "a") == pytest.approx(5 / (3 + 5 + 2))  # three texts of b's own, five that it fitted
    assert (COUNTS.fair("b", "c"), COUNTS.behind("c", "b")) == (0, 0)
    assert list(COUNTS.around("b")) == ["a"]


def test_the_shipped_counts_name_rules_and_fit_the_texts_they_are_of() -> None:
    table = json.loads(DATA.read_text("utf-8"))
    assert "counted over" in table["source"]
    assert table["as_of"]
    for cause, row in table["causes"].items():
        assert {cause, *row["fit"]} <= set(CHECKS), cause
        assert all(1 < count <= row["texts"] for count in row["fit"].values()), cause
        assert cause not in row["fit"]


TEXT = "The first all_reduce of two A6000 hangs. With NCCL_P2P_DISABLE=1 it works. What is wrong here?\n"


def test_in_a_whole_text_the_second_cause_comes_last() -> None:
    report = judge(read_text([TEXT.encode()]), Knowledge())
    loud = [f.rule for f in report.findings if f.severity is not Severity.INFO and not f.explained_by]
    assert loud == ["pcie-p2p-unusable", "iommu-not-passthrough"]
