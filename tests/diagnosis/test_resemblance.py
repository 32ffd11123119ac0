"""Suspicions from the words of a text: raised where nothing surer is told, never against facts."""

import pytest

from doctor.diagnosis.judge import judge
from doctor.diagnosis.rank import ranked
from doctor.diagnosis.registry import checks
from doctor.diagnosis.resemblance import (
    ANSWERS,
    BESIDE_TEXT_AGAINST_FACTS_SHARE,
    BESIDE_TEXT_SHARE,
    BESIDE_WHAT_WORKS_SHARE,
    LEAST_SHARE,
    SURE_SHARE,
    suspected,
    unheard,
)
from doctor.facts import Snapshot
from doctor.facts.drivers import Install
from doctor.facts.snapshot import Resemblance, Symptom
from doctor.findings import Finding, Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge

CHECKS = {check.rule.id: check for check in checks()}
SHM = "container-shm-too-small"
LIKE = Snapshot(resembles=(Resemblance(cause=SHM, share=0.6, words=("dev/shm",), source="text:3"),))


def test_the_cause_that_the_words_speak_for_is_a_warning_that_says_so() -> None:
    [finding] = suspected([], LIKE, CHECKS, ())
    assert (finding.rule, finding.severity, finding.basis) == (SHM, Severity.WARNING, "symptom")
    assert finding.summary.startswith("Suspected from the words")
    assert [(e.source, "dev/shm" in e.text) for e in finding.evidence] == [("text:3", True)]
    assert finding.ask


def test_a_surer_cause_leaves_no_room_for_a_suspicion() -> None:
    sure = Finding(rule="memlock-limit-too-low", severity=Severity.WARNING, summary="locked memory is limited")
    likely = Snapshot(spoken=True, resembles=(Resemblance(cause=SHM, share=SURE_SHARE - 0.01),))
    assert suspected([sure], likely, CHECKS, ()) == [sure]


def test_beside_a_surer_cause_none_is_suspected_of_which_facts_were_seen() -> None:
    sure = Finding(rule="memlock-limit-too-low", severity=Severity.WARNING, summary="locked memory is limited")
    certain = Snapshot(spoken=True, resembles=(Resemblance(cause=SHM, share=0.97),))
    assert suspected([sure], certain, CHECKS, (), looked_well={SHM}) == [sure]
    assert [f.rule for f in suspected([], certain, CHECKS, (), looked_well={SHM})] == [SHM]


def test_words_that_leave_no_doubt_stand_beside_one_surer_cause_and_explain_nothing() -> None:
    sure = Finding(rule="memlock-limit-too-low", severity=Severity.WARNING, summary="locked memory is limited")
    certain = Snapshot(spoken=True, resembles=(Resemblance(cause=SHM, share=0.97),))
    beside = suspected([sure], certain, CHECKS, ())
    assert [(f.rule, f.explains) for f in beside] == [("memlock-limit-too-low", ()), (SHM, ())]
    other = Finding(rule="nofile-limit-too-low", severity=Severity.WARNING, summary="few files")
    assert suspected([sure, other], certain, CHECKS, ()) == [sure, other]


def test_of_two_causes_of_one_error_words_do_not_add_the_other() -> None:
    told = Finding(rule="library-missing-gpu-arch", severity=Severity.WARNING, summary="the library has no kernels")
    words = Snapshot(spoken=True, resembles=(Resemblance(cause="torch-missing-gpu-arch", share=0.97),))
    assert suspected([told], words, CHECKS, ()) == [told]
    assert [f.rule for f in suspected([], words, CHECKS, ())] == ["torch-missing-gpu-arch"]


def test_a_suspicion_comes_after_the_surer_cause() -> None:
    rules = {check.rule.id: check.rule for check in CHECKS.values()}
    sure = Finding(rule="numa-balancing-enabled", severity=Severity.WARNING, summary="NUMA balancing is on")
    certain = Snapshot(spoken=True, resembles=(Resemblance(cause=SHM, share=0.97),))
    assert rules[SHM].order < rules[sure.rule].order
    assert [f.rule for f in ranked(suspected([sure], certain, CHECKS, ()), rules)] == [sure.rule, SHM]
    consequence = Finding(rule="torch-sees-no-gpu", severity=Severity.WARNING, summary="torch sees no GPU")
    assert [f.rule for f in ranked(suspected([consequence], LIKE, CHECKS, ()), rules)] == [SHM, consequence.rule]


def test_where_nobody_speaks_no_words_stand_beside_a_surer_cause() -> None:
    sure = Finding(rule="memlock-limit-too-low", severity=Severity.WARNING, summary="locked memory is limited")
    assert suspected([sure], Snapshot(resembles=(Resemblance(cause=SHM, share=0.97),)), CHECKS, ()) == [sure]


TEXT_ALONE = Finding(rule="memlock-limit-too-low", severity=Severity.WARNING, summary="of a text", basis="symptom")


def test_beside_an_error_text_alone_clear_words_are_heard_though_nobody_speaks() -> None:
    clear = Snapshot(resembles=(Resemblance(cause=SHM, share=BESIDE_TEXT_SHARE),))
    assert [f.rule for f in suspected([TEXT_ALONE], clear, CHECKS, ())] == [TEXT_ALONE.rule, SHM]
    unclear = Snapshot(resembles=(Resemblance(cause=SHM, share=BESIDE_TEXT_SHARE - 0.01),))
    assert suspected([TEXT_ALONE], unclear, CHECKS, ()) == [TEXT_ALONE]
    certain = TEXT_ALONE.model_copy(update={"severity": Severity.ERROR})
    assert suspected([certain], clear, CHECKS, ()) == [certain]


def test_beside_an_error_text_alone_words_must_be_clearer_where_the_rule_saw_facts() -> None:
    shares = (BESIDE_TEXT_SHARE, BESIDE_TEXT_AGAINST_FACTS_SHARE)
    texts = [Snapshot(resembles=(Resemblance(cause=SHM, share=share),)) for share in shares]
    found = [[f.rule for f in suspected([TEXT_ALONE], t, CHECKS, (), looked_well={SHM})] for t in texts]
    assert found == [[TEXT_ALONE.rule], [TEXT_ALONE.rule, SHM]]


@pytest.mark.parametrize(
    ("key", "text"), [("user-error-loss", "loss is not a scalar"), ("something-works-told", "rocminfo works")]
)
def test_beside_an_error_of_the_users_own_code_or_what_still_works_words_accuse_nothing(key: str, text: str) -> None:
    words = (Resemblance(cause=SHM, share=0.97),)
    said = Symptom(key=key, text=text, source="text:1")
    assert suspected([TEXT_ALONE], Snapshot(resembles=words, symptoms=(said,)), CHECKS, ()) == [TEXT_ALONE]


def test_where_somebody_says_what_works_words_beside_an_error_text_must_be_all_but_certain() -> None:
    works = Symptom(key="something-works-told", text="the first epoch works", source="text:1")
    shares = (BESIDE_WHAT_WORKS_SHARE - 0.01, BESIDE_WHAT_WORKS_SHARE)
    texts = [Snapshot(spoken=True, symptoms=(works,), resembles=(Resemblance(cause=SHM, share=s),)) for s in shares]
    assert [[f.rule for f in suspected([TEXT_ALONE], t, CHECKS, ())][1:] for t in texts] == [[], [SHM]]
    own = Symptom(key="user-error-loss", text="loss is not a scalar", source="text:1")
    assert suspected([TEXT_ALONE], texts[1].model_copy(update={"symptoms": (own,)}), CHECKS, ()) == [TEXT_ALONE]


@pytest.mark.parametrize("rule", sorted(ANSWERS))
def test_beside_what_answers_by_itself_words_name_no_other_cause(rule: str) -> None:
    told = Finding(rule=rule, severity=Severity.WARNING, summary="memory ran out", basis="symptom")
    certain = Snapshot(spoken=True, resembles=(Resemblance(cause="wsl-gpu-misconfigured", share=0.97),))
    assert suspected([told], certain, CHECKS, ()) == [told]


def test_where_nothing_may_be_wrong_words_name_no_second_cause() -> None:
    likes = (Resemblance(cause=SHM, share=0.97), Resemblance(cause="none", share=0.01))
    assert suspected([TEXT_ALONE], Snapshot(resembles=likes), CHECKS, ()) == [TEXT_ALONE]


@pytest.mark.parametrize(("share", "named"), [(0.29, []), (0.31, [SHM])])
def test_a_cause_must_be_three_times_as_likely_as_that_nothing_is_wrong(share: float, named: list[str]) -> None:
    likes = (Resemblance(cause=SHM, share=share), Resemblance(cause="none", share=0.1))
    assert [f.rule for f in suspected([], Snapshot(resembles=likes), CHECKS, ())] == named


def test_what_only_follows_from_a_cause_leaves_room() -> None:
    consequence = Finding(rule="torch-sees-no-gpu", severity=Severity.WARNING, summary="torch sees no GPU")
    assert [f.rule for f in suspected([consequence], LIKE, CHECKS, ())] == ["torch-sees-no-gpu", SHM]


def test_facts_that_ruled_a_cause_out_win() -> None:
    assert suspected([], LIKE, CHECKS, {SHM}) == []


def test_a_small_share_is_no_suspicion_but_adds_to_one_that_a_rule_has() -> None:
    little = Snapshot(resembles=(Resemblance(cause=SHM, share=LEAST_SHARE / 2),))
    assert suspected([], little, CHECKS, ()) == []
    weak = Finding(rule=SHM, severity=Severity.INFO, summary="may be too small", suspect=1)
    assert [f.severity for f in suspected([weak], little, CHECKS, ())] == [Severity.WARNING]


def test_a_text_of_a_healthy_machine_is_not_suspected() -> None:
    healthy = Snapshot(resembles=(Resemblance(cause="none", share=0.9), Resemblance(cause=SHM, share=0.05)))
    assert suspected([], healthy, CHECKS, ()) == []


def test_a_described_fault_without_any_error_text_is_suspected() -> None:
    text = b"Whisper server falls back to CPU\nnvidia-smi works on host\ndocker-compose.yml has no deploy section\n"
    report = judge(read_text([text]), Knowledge())
    loud = [f.rule for f in report.findings if f.severity is not Severity.INFO and not f.explained_by]
    assert "container-missing-gpu-passthrough" in loud


def test_a_text_of_one_vendors_stack_is_not_suspected_of_the_others_causes() -> None:
    words = (Resemblance(cause="nvidia-kernel-incompatible", share=0.6),)
    rocm = Snapshot(rocm=(Install(path="", version="6.4.1", key="shown"),), resembles=words)
    assert suspected([], rocm, CHECKS, unheard(rocm, CHECKS, CHECKS)) == []
    assert [f.rule for f in suspected([], Snapshot(resembles=words), CHECKS, ())] == ["nvidia-kernel-incompatible"]


def test_a_text_that_names_one_vendor_alone_is_not_suspected_of_the_others_causes() -> None:
    like = (Resemblance(cause="amdgpu-rocm-version-skew", share=0.5),)

    def told(*keys: str) -> Snapshot:
        return Snapshot(resembles=like, symptoms=tuple(Symptom(key=key, text="said", source="text:1") for key in keys))

    nvidia, amd = told("nvidia-driver-named"), told("amd-gpu-told", "gpu-not-seen-said")
    assert not suspected([], nvidia, CHECKS, unheard(nvidia, CHECKS, CHECKS))
    assert suspected([], amd, CHECKS, unheard(amd, CHECKS, CHECKS))
    assert suspected([], told("nvidia-gpu-told", "amdgpu-driver-named"), CHECKS, ())


def test_what_a_rule_weighed_as_a_remark_is_not_suspected_beside_a_surer_cause() -> None:
    sure = Finding(rule="library-missing-gpu-arch", severity=Severity.ERROR, summary="no kernels")
    remark = Finding(rule="hsa-override-misuse", severity=Severity.INFO, summary="a relative", basis="facts")
    words = Snapshot(spoken=True, resembles=(Resemblance(cause="hsa-override-misuse", share=0.97),))
    assert suspected([sure, remark], words, CHECKS, ()) == [sure, remark]


def test_where_the_likeliest_cause_cannot_be_no_less_likely_one_is_suspected() -> None:
    less = Resemblance(cause="memlock-limit-too-low", share=0.3)
    machine = Snapshot(resembles=(*LIKE.resembles, less))
    assert suspected([], machine, CHECKS, {SHM}) == []
    first = Snapshot(resembles=(less.model_copy(update={"share": 0.7}), *LIKE.resembles))
    assert [f.rule for f in suspected([], first, CHECKS, {SHM})] == ["memlock-limit-too-low"]


def test_what_a_rule_only_notes_is_not_what_the_words_speak_of() -> None:
    noted = Finding(rule=SHM, severity=Severity.INFO, summary="a known fault of something else", basis="facts")
    kept, said = suspected([noted], LIKE, CHECKS, ())
    assert (kept, said.summary.partition(":")[0]) == (noted, "Suspected from the words of the text")


@pytest.mark.parametrize(
    ("cause", "named"), [("collective-flag-misconfigured", False), ("env-not-seen-by-service", True)]
)
def test_a_setting_is_no_second_cause_by_words_alone(cause: str, named: bool) -> None:
    words = Snapshot(spoken=True, resembles=(Resemblance(cause=cause, share=0.97),))
    assert [f.rule for f in suspected([TEXT_ALONE], words, CHECKS, ())][1:] == [cause] * named
    assert [f.rule for f in suspected([], words, CHECKS, ())] == [cause]
