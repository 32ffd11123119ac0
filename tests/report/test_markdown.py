"""The reply that a maintainer pastes: nothing from outside is alive in it."""

from __future__ import annotations

from doctor.facts.sheet import FactSheet, assemble
from doctor.findings import Evidence, Finding, Report, Severity, Subject, Suppressed
from doctor.report.formats import jsonl, markdown
from tests.rules.remedies import single


def report(**changes: object) -> Report:
    values: dict[str, object] = {
        "rule": "torch-cpu-only-build",
        "severity": Severity.ERROR,
        "summary": "torch 2.1 has no GPU support.",
        "subject": Subject(kind="package", id="torch"),
        "evidence": (Evidence(text="torch.build = cpu", source="text:3"),),
        "remedies": (single("Install a CUDA build.", ("pip", "install", "torch"), "environment"),),
    }
    return Report(doctor="0", status="error", findings=(Finding.model_validate(values | changes),))


def test_a_reply() -> None:
    assert markdown.render(report()) == (
        "**torch 2.1 has no GPU support** (medium confidence)\n> `torch.build = cpu` (line 3)\n\n"
        "**Fix** (in the Python environment): Install a CUDA build.\n```sh\npip install torch\n```\n"
    )


def test_two_causes_with_one_fix_print_it_once() -> None:
    one = report().findings[0]
    other = one.model_copy(update={"rule": "other", "fingerprint": "f1", "summary": "Another sign."})
    unlike = other.model_copy(update={"remedies": (single("Reboot.", ("systemctl", "reboot"), "host"),)})
    assert markdown.render(report().model_copy(update={"findings": (one, other)})).endswith("**Fix**: as above.\n")
    assert "as above" not in markdown.render(report().model_copy(update={"findings": (one, unlike)}))


def test_text_from_outside_is_inert() -> None:
    hostile = "@octocat #12 <img src=x> [a](http://evil) `x` ``` **b** https://evil www.evil"
    text = markdown.render(report(summary=hostile, evidence=(Evidence(text="```\n@octocat <b>", source="text:1"),)))
    shown = [line for line in text.splitlines() if "octocat" in line]
    assert all("@octocat" not in line or "`" in line.partition("@octocat")[0] for line in shown)
    assert "\\<img" in text
    assert "](http" not in text.replace("\\](", "")
    assert "https://" not in text
    assert "#12" not in text
    assert "```` ``` @octocat <b> ````" in text.replace("`````", "````") or "```` ```" in text


def test_code_in_our_own_sentences_stays_code() -> None:
    assert markdown.inert("run `ls *_x` for @ann") == "run `ls *_x` for @\u200bann"
    assert markdown.inert("a ` alone_and ``two``") == "a \\` alone\\_and \\`\\`two\\`\\`"
    assert markdown.inert("run `a | b`", in_table=True) == "run `a \\| b`"


def test_a_line_of_jsonl_is_one_line() -> None:
    line = jsonl.render(report(summary="a\nb"))
    assert line.count("\n") == 1
    assert line.endswith("}\n")


def test_a_machine_that_could_not_be_judged_is_not_a_text_without_a_cause() -> None:
    sheet = FactSheet()
    sheet.put("gpus", [], "file:/sys/bus/pci/devices")
    machine = assemble([sheet])
    unknown, fine = (Report(doctor="0", status=status, snapshot=machine) for status in ("unknown", "ok"))
    assert markdown.render(unknown) == "No GPU was found here. 0 checks passed.\n"
    assert markdown.render(fine).startswith("No problems found: ")
    hidden = fine.model_copy(update={"suppressed": (Suppressed(rule="x", fingerprint="1", reason="known", by="a"),)})
    assert markdown.render(hidden).startswith("No problems found beside 1 suppressed finding: ")
    text = markdown.render(Report(doctor="0", status="unknown", source="a.md"))
    assert text.startswith("I found no known cause in this text.")
