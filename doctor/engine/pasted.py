"""The report of a pasted text: findings from its facts and error texts, and beside them hints from its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.engine import registry
from doctor.engine.ask import ask_for, missing_for
from doctor.engine.judge import judge
from doctor.engine.outcome import decided, run
from doctor.engine.registry import Check
from doctor.findings import Finding, Hint, Report, Rule, Severity
from doctor.rules.lib.error_texts import request

if TYPE_CHECKING:
    from doctor.facts import Snapshot
    from doctor.knowledge import Knowledge
    from doctor.triage.read import Pasted

REPORT_FROM = 0.3
"""From this probability on a text counts as somebody's report of a failure; below it nothing in it is an error or a
warning. benchmarks/hints.py prints what that keeps and silences."""
HINT_FROM = 0.1
"""A hint less likely than this says nothing."""
MOST = 3


def judge_pasted(pasted: Pasted, kb: Knowledge, source: str | None = None) -> Report:
    """Where the text is no report of a failure (a changelog, a question, a success), it names no cause: findings are
    information, and what error texts alone pointed to becomes a hint."""
    machine = pasted.machine
    if pasted.scripts:
        from doctor.engine.ways import of_scripts

        machine = machine.model_copy(update={"lost_variables": of_scripts(pasted.scripts)})
    report = judge(machine, kb, source=source)
    complains = pasted.guess.report >= REPORT_FROM
    quiet = (f.model_copy(update={"severity": Severity.INFO}) for f in report.findings if f.basis != "symptom")
    findings = report.findings if complains else tuple(quiet)
    checks = {check.rule.id: check for check in registry.checks()}
    rules = {name: check.rule for name, check in checks.items()}
    findings = tuple(_asking(f, rules.get(f.rule), pasted.machine) for f in findings)
    named = {f.rule for f in findings if f.severity is not Severity.INFO}
    likely = {c.rule: c.confidence * pasted.guess.report for c in pasted.guess.causes}
    if not complains:
        from_text = (f.rule for f in report.findings if f.basis == "symptom" and f.severity is not Severity.INFO)
        likely |= {rule: max(likely.get(rule, 0.0), HINT_FROM) for rule in from_text}
    ranked = sorted(likely.items(), key=lambda row: (-row[1], row[0]))
    hints = tuple(
        Hint(
            rule=rule,
            title=rules[rule].title,
            confidence=round(share, 2),
            ask=request(machine) or ask_for(rules[rule], machine),
        )
        for rule, share in ranked
        if rule in rules and rule not in named and share >= HINT_FROM and not _ruled_out(checks[rule], machine, kb)
    )
    return report.model_copy(
        update={
            "findings": findings,
            "hints": hints[:MOST],
            "reports_failure": complains,
            "status": report.status if complains or report.status not in ("error", "warning") else "unknown",
        }
    )


def _ruled_out(check: Check, machine: Snapshot, kb: Knowledge) -> bool:
    """Whether the rule found nothing in facts that decide the matter."""
    known = {name for name in check.names if machine.knows(name)}
    outcome = run(check, machine, kb, None, known)
    return check.rule.facts_decide and not outcome.findings and decided(outcome, check, machine, kb)


def _asking(finding: Finding, rule: Rule | None, machine: Snapshot) -> Finding:
    """A finding that has one witness asks for the other."""
    if finding.ask or rule is None or finding.basis == "both" or finding.severity is Severity.INFO:
        return finding
    return finding.model_copy(update={"ask": request(machine, rule.id) or missing_for(rule, machine)})
