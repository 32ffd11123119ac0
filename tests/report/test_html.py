"""One page that stands alone, says what the report says, and does nothing that its text asks for."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Report, Severity, Subject, Unchecked
from doctor.report.formats.html import render
from tests.rules.remedies import single

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</details></body><iframe src=//evil.example>",
    "<!-- -->\x1b[31m\u202egnp.exe\x00",
    "&lt;b&gt; &amp; ${{7*7}} {{x}} javascript:alert(1)",
    "<style>@import url(http://evil.example)</style>",
    "]]><svg/onload=alert(1)>",
)
_VOID = ("meta", "img", "br", "link", "input")


class Page(HTMLParser):
    """Tags with their attributes, the text, and whether each tag that opens closes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def hostile(text: str) -> Report:
    finding = Finding(
        rule="a-rule", severity=Severity.ERROR, summary=text, subject=Subject(kind=text, id=text), fingerprint="f0",
        evidence=tuple(Evidence(text=text, source=text) for _ in range(20)), verify=("echo", text), ask=text,
        remedies=(single(text, command=("rm", text), risk=text, root=True, reboot=True),),
    )  # fmt: skip
    follow = finding.model_copy(update={"fingerprint": "f1", "explained_by": "f0"})
    machine = Snapshot.model_validate({
        "environment": {"A": text, "HF_TOKEN": "hf_" + "aB3" * 12}, "kernel": {"release": text},
        "gpus": [{"key": "0000:c1:00.0", "name": text, "pci_address": "0000:c1:00.0", "arch": text}],
    })  # fmt: skip
    return Report(
        doctor="1", status="error", findings=(finding, follow), snapshot=machine, source=text,
        unchecked=(Unchecked(rule="x", reason=text), Unchecked(rule="y", reason=text, crashed=True)), clear=("z",),
    )  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_outside_stays_text(text: str) -> None:
    page = Page(render(hostile(text)))
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "iframe", "link", "object", "form", "b", "base", "embed", "video"}
    assert [tag for tag, _ in page.tags if tag in ("style", "svg")] == ["style", "svg"]  # ours alone
    attributes = {name for _, held in page.tags for name in held}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset")]
    assert [held["href"] for _, held in page.tags if "href" in held] == ["#main"]
    assert page.open == []
    assert "\x1b" not in page.words
    assert "\u202e" not in page.words


def test_code_in_our_sentences_is_code_and_stays_escaped() -> None:
    finding = Finding(rule="r", severity=Severity.ERROR, summary="s", fingerprint="f", why="`nvidia-smi` <b> fails")
    page = render(Report(doctor="0", status="error", findings=(finding,)))
    assert "<code>nvidia-smi</code> &lt;b&gt; fails" in page


def test_nothing_is_loaded_from_anywhere() -> None:
    page = render(hostile("x"))
    policy = next(held["content"] for tag, held in Page(page).tags if tag == "meta" and "http-equiv" in held)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not re.search(r"https?://|url\(|@import", page)


def test_it_is_redacted_unless_told_not_to() -> None:
    report = hostile("token=hf_" + "aB3" * 12)
    assert "aB3aB3" not in render(report)
    assert "aB3aB3" in render(report, unredacted=True)


def test_consequences_stand_inside_their_cause() -> None:
    page = render(hostile("the driver is missing"))
    assert page.count('<details class="finding') == 1
    assert "This explains" in page


def test_it_can_be_used_by_key_in_the_dark_and_on_paper() -> None:
    page = render(hostile("x"))
    told = Page(page)
    tags = [tag for tag, _ in told.tags]
    assert tags.count("details") == tags.count("summary") > 4
    assert tags.count("h1") == 1
    assert [held["lang"] for tag, held in told.tags if tag == "html"] == ["en"]
    heads = [held.get("scope") for tag, held in told.tags if tag == "th"]
    assert heads
    assert None not in heads
    ids = [held["id"] for _, held in told.tags if "id" in held]
    assert len(ids) == len(set(ids))
    assert {held["aria-labelledby"] for tag, held in told.tags if tag == "section"} <= set(ids)
    for part in (
        "prefers-color-scheme: dark",
        "color-scheme: light dark",
        "@media print",
        ":focus-visible",
        "details-content",
    ):
        assert part in page


def test_what_could_not_be_told_and_the_command_are_there() -> None:
    words = Page(render(hostile("quiet"))).words
    assert "rm quiet" in words
    assert "root" in words
    assert "reboot" in words
    assert "The check crashed" in words
    assert "0000:c1:00.0" in words
