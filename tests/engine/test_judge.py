"""What the engine makes of rules: outcomes, symptoms, ranking, folding, allow-list."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.engine.allow import Allowed, load
from doctor.engine.judge import judge
from doctor.errors import DataFileError
from doctor.facts import FactSheet, Snapshot, State, assemble
from doctor.findings import Finding, Layer, Report, Scope, Severity
from tests.engine.fakes import fake_rule, finding, knowing


def machine(facts: dict[str, Any] | None = None, **symptoms: str) -> Snapshot:
    sheet = FactSheet()
    for name, value in {
        "os.id": "ubuntu",
        "gpus[#0].vendor": "amd",
        "amdgpu_driver.loaded": True,
        **(facts or {}),
    }.items():
        sheet.put(name, value, "test")
    for key, text in symptoms.items():
        sheet.put(f"symptoms[{key}].text", text, "text:1")
        sheet.put(f"symptoms[{key}].source", "text:1", "text:1")
    return assemble([sheet])


def rules_of(report: Report) -> list[str]:
    return [f.rule for f in report.findings]


def test_the_engine_fills_in_what_a_rule_leaves_out() -> None:
    report = judge(machine(), knowing(), checks=[fake_rule("a", finding(), severity=Severity.WARNING)])
    (found,) = report.findings
    assert (found.rule, found.severity, found.docs) == ("a", Severity.WARNING, "doctor explain a")
    assert len(found.fingerprint) == 16
    assert report.status == "warning"


def test_a_rule_whose_facts_are_known_and_that_finds_nothing_is_clear() -> None:
    report = judge(machine(), knowing(), checks=[fake_rule("a")])
    assert (report.clear, report.unchecked, report.status) == (("a",), (), "partial")


def test_a_rule_that_could_not_tell_names_fact_and_reason() -> None:
    sheet = FactSheet()
    sheet.put("gpus[#0].vendor", "amd", "test")
    sheet.miss("kernel_log.events", State.DENIED, "file:/dev/kmsg")
    checks = [fake_rule("a", finding(), needs=({"kernel_log.events", "gpus"},))]
    (row,) = judge(assemble([sheet]), knowing(), checks=checks).unchecked
    assert row.facts == ("kernel_log.events",)
    assert row.reason == "kernel_log.events: permission denied (file:/dev/kmsg)"


def test_a_rule_of_the_other_vendor_neither_is_clear_nor_could_not_tell() -> None:
    checks = [fake_rule("a", tags=("nvidia",)), fake_rule("b", needs=({"torch.version"},), tags=("nvidia",))]
    report = judge(machine(), knowing(), checks=checks)
    assert (report.clear, report.unchecked) == ((), ())


def test_a_crash_costs_only_its_rule() -> None:
    def crash(*_: object) -> Iterator[Finding]:
        yield from ()
        raise KeyError("boom")

    report = judge(machine(), knowing(), checks=[fake_rule("a", run=crash), fake_rule("b", finding())])
    assert rules_of(report) == ["b"]
    assert [(u.rule, u.crashed) for u in report.unchecked] == [("a", True)]
    assert "KeyError" in report.unchecked[0].reason


def test_no_gpu_is_unknown_not_ok() -> None:
    assert judge(Snapshot(), knowing(), checks=[]).status == "unknown"


def test_a_symptom_raises_the_rule_that_facts_could_not_decide() -> None:
    checks = [fake_rule("a", finding(), needs=({"torch.version"},))]
    (found,) = judge(machine(broken="it broke"), knowing(broken=["a"]), checks=checks).findings
    assert (found.basis, found.summary, found.evidence[0].text) == ("symptom", "Title of a.", "it broke")


def test_facts_win_over_a_symptom() -> None:
    report = judge(machine(broken="it broke"), knowing(broken=["a"]), checks=[fake_rule("a")])
    assert (rules_of(report), report.clear) == ([], ("a",))


def test_facts_and_symptom_together_are_both() -> None:
    report = judge(machine(broken="it broke"), knowing(broken=["a"]), checks=[fake_rule("a", finding())])
    assert report.findings[0].basis == "both"


def test_a_line_that_several_signatures_know_is_shown_once() -> None:
    told = machine(broken="it broke", failed="it broke")
    (found,) = judge(
        told, knowing(broken=["a"], failed=["a"]), checks=[fake_rule("a", needs=({"torch.version"},))]
    ).findings
    assert [e.text for e in found.evidence] == ["it broke"]


def test_one_finding_a_subject() -> None:
    report = judge(machine(), knowing(), checks=[fake_rule("a", finding(), finding(), finding(subject="x"))])
    assert len(report.findings) == 2


def test_what_is_explained_is_folded_and_stays() -> None:
    checks = [
        fake_rule("middle", finding(), explains=("end",), order=40),
        fake_rule("end", finding(), order=90),
        fake_rule("root", finding(), explains=("middle",), order=10),
    ]
    root, *rest = judge(machine(), knowing(), checks=checks).findings
    assert root.rule == "root"
    assert {f.rule: (f.severity, f.explained_by) for f in rest} == {
        "middle": (Severity.INFO, root.fingerprint),
        "end": (Severity.INFO, root.fingerprint),
    }


def test_rules_that_explain_each_other_do_not_both_vanish() -> None:
    checks = [fake_rule("a", finding(), explains=("b",)), fake_rule("b", finding(), explains=("a",))]
    report = judge(machine(), knowing(), checks=checks)
    assert [f.explained_by is None for f in report.findings] == [True, False]


def test_errors_come_before_warnings_and_lower_orders_first() -> None:
    checks = [
        fake_rule("w", finding(), severity=Severity.WARNING, order=10),
        fake_rule("late", finding(), order=50),
        fake_rule("early", finding(), order=10),
    ]
    assert rules_of(judge(machine(), knowing(), checks=checks)) == ["early", "late", "w"]


def test_a_tuning_rule_is_info_without_profile_and_symptom() -> None:
    report = judge(machine(), knowing(), checks=[fake_rule("a", finding(), order=80)])
    assert report.findings[0].severity is Severity.INFO


def test_what_is_allowed_is_counted_and_not_listed() -> None:
    allowed = [Allowed("a", "known", "/etc/allow.toml")]
    report = judge(machine(), knowing(), checks=[fake_rule("a", finding())], allowed=allowed)
    assert (rules_of(report), len(report.suppressed), report.status) == ([], 1, "partial")


def test_what_is_allowed_leaves_its_layer_a_problem() -> None:
    check = fake_rule("a", finding(), layer=Layer.DRIVER)
    report = judge(machine(), knowing(), checks=[check], allowed=[Allowed("a", "known", "f")])
    assert (report.layers["driver"], report.counted()) == ("problem", ())


def test_what_is_wrong_with_an_environment_or_a_container_breaks_no_driver() -> None:
    def folded(scope: Scope, basis: str) -> bool:
        driver = fake_rule("driver", finding().model_copy(update={"basis": basis}), scope=Scope.DRIVER, order=40)
        above = fake_rule("above", finding(), scope=scope, explains=("driver",), order=10)
        return len(judge(machine(), knowing(), checks=[above, driver]).counted()) == 1

    assert [folded(scope, "facts") for scope in (Scope.HOST, Scope.CONTAINER, Scope.ENVIRONMENT)] == [
        True,
        False,
        False,
    ]
    assert folded(Scope.CONTAINER, "symptom")  # a container hides a driver


def test_an_entry_ends_with_its_last_day() -> None:
    entry = Allowed("a", "known", "f", until=datetime.date(2026, 1, 31))
    found = finding().model_copy(update={"rule": "a"})
    assert entry.covers(found, datetime.date(2026, 1, 31))
    assert not entry.covers(found, datetime.date(2026, 2, 1))


def test_all_faults_of_an_allow_list_are_listed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "allow.toml"
    path.write_text('[[allow]]\nrule = "a"\n[[allow]]\nreason = "r"\nwho = 1\n')
    with pytest.raises(DataFileError) as caught:
        load(path)
    assert len(caught.value.faults) == 3


def test_a_suspect_that_an_error_text_points_to_is_as_loud_as_the_text() -> None:
    from doctor.knowledge import Knowledge
    from doctor.triage.read import read_text

    text = b"OSError: [Errno 24] Too many open files\nulimit -n: 1024\n"
    report = judge(read_text([text]), Knowledge())
    assert [(f.rule, f.severity.value, f.basis) for f in report.counted()] == [
        ("nofile-limit-too-low", "error", "both")
    ]


def _told(text: str) -> list[tuple[str, str]]:
    from doctor.knowledge import Knowledge
    from doctor.triage.read import read_text

    report = judge(read_text([text.encode()]), Knowledge())
    return [(f.rule, f.severity.value) for f in report.findings if f.rule == "gpu-libs-conflict"]


def test_a_rule_says_itself_whether_its_facts_were_enough_to_clear_the_machine() -> None:
    check = fake_rule("a")
    seen = machine(symptom="boom")
    assert rules_of(judge(seen, knowing(symptom=["a"]), checks=[check])) == []
    unsure = dataclasses.replace(check, decides=lambda machine, kb: False)
    assert rules_of(judge(seen, knowing(symptom=["a"]), checks=[unsure])) == ["a"]
    sure = dataclasses.replace(check, decides=lambda machine, kb: True)
    assert rules_of(judge(seen, knowing(symptom=["a"]), checks=[sure])) == []
