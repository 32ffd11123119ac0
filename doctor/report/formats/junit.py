"""Report -> JUnit XML, redacted: one case a rule that was judged, failed, skipped because it could not tell, or clear.

The dialect is the one that Jenkins, GitLab and GitHub's readers share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from doctor.findings import Report
from doctor.report.formats.json import as_data
from doctor.report.words import clean, fix_lines, headline


def render(report: Report, *, unredacted: bool = False) -> str:
    """An error or warning is a failure; a remark and what another finding explains are output of a passing case."""
    data = as_data(report, unredacted=unredacted)
    cases = [_finding(f) for f in data["findings"]]
    cases += [_case("clear", rule) for rule in data["clear"]]
    cases += [_unchecked(u) for u in data["unchecked"]]
    cases += [_skipped("allowed", s["rule"], f"allowed: {s['reason']}") for s in data["suppressed"]]
    if data["status"] == "unknown":  # readers show a run without a failure as passed
        cases.insert(0, _skipped("verdict", "status", headline(report)))
    counts = {
        "tests": len(cases),
        "failures": sum("<failure " in case for case in cases),
        "errors": sum("<error " in case for case in cases),
        "skipped": sum("<skipped " in case for case in cases),
    }
    numbers = " ".join(f'{name}="{count}"' for name, count in counts.items())
    of_all = numbers.rpartition(" ")[0]  # Jenkins' schema knows no `skipped` there
    rows = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="doctor" {of_all}>']
    rows += [f'<testsuite name="doctor check" {numbers}>', *cases, "</testsuite>", "</testsuites>"]
    return "\n".join(rows) + "\n"


def _case(area: str, name: str, inside: str = "") -> str:
    start = f"<testcase classname={_attribute(f'doctor.{area}')} name={_attribute(name)}"
    return f"{start}>{inside}</testcase>" if inside else f"{start}/>"


def _finding(finding: Mapping[str, Any]) -> str:
    subject = finding["subject"]
    name = finding["rule"] + (f" [{subject['id']}]" if subject["id"] != "-" else "")
    body = escape(_body(finding))
    if finding["explained_by"] or finding["severity"] == "info":
        return _case(finding["severity"], name, f"<system-out>{body}</system-out>")
    start = f"<failure type={_attribute(finding['severity'])} message={_attribute(finding['summary'])}>"
    return _case(finding["severity"], name, f"{start}{body}</failure>")


def _body(finding: Mapping[str, Any]) -> str:
    rows = [clean(finding["summary"]), *(f"{clean(e['text'])} ({clean(e['source'])})" for e in finding["evidence"])]
    rows += fix_lines(finding)
    return "\n".join(rows)


def _unchecked(unchecked: Mapping[str, Any]) -> str:
    if unchecked["crashed"]:
        start = f'<error type="crashed" message={_attribute(unchecked["reason"])}/>'
        return _case("unchecked", unchecked["rule"], start)
    return _skipped("unchecked", unchecked["rule"], f"not checked: {unchecked['reason']}")


def _skipped(area: str, name: str, why: str) -> str:
    return _case(area, name, f"<skipped message={_attribute(why)}/>")


def _attribute(text: str) -> str:
    return quoteattr(clean(text))
