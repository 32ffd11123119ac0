"""Markdown by a CommonMark parser with GitHub's tables: what others wrote stays text, and tables stay tables."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

from doctor.fleet.text import markdown as fleet_markdown
from doctor.fleet.verdict import Verdict
from doctor.report.formats import markdown
from tests.each import each
from tests.fleet.test_verdict import fleet, node
from tests.report.example import report

EVIL = (
    "[click](http://evil.example)",
    "![](http://evil.example/x.png)",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "| a | b | c |\n|--|--|--|",
    "a | b | c",
    "```\ncode\n```",
    "`tick` `` ticks ``",
    "# heading\n- item\n> quote",
    "<!-- hidden -->",
    "[x]: http://evil.example\n[x]",
    "*bold* **bold** __bold__ ~~gone~~",
    "\\[x\\](y) \\` \\|",
)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    return [inner for token in PARSER.parse(text) for inner in (token, *(token.children or ()))]


def odd(verdict_value: str) -> Verdict:
    return fleet((9, node()), (1, node(nvidia_driver__version=verdict_value)))


@each("evil", EVIL)
def test_no_link_picture_or_markup_of_theirs_comes_alive(evil: str) -> None:
    for text in (markdown.render(report(evil)), fleet_markdown(odd(evil))):
        found = {token.type for token in tokens(text)}
        assert not found & {"html_inline", "html_block", "image", "link_open", "s_open"}, text
        harmless = markdown.render(report("x")) if "confidence)" in text else fleet_markdown(odd("x"))
        kinds = ("heading_open", "blockquote_open", "fence", "strong_open", "em_open", "bullet_list_open")
        counted = [[token.type for token in tokens(t)].count(kind) for t in (text, harmless) for kind in kinds]
        assert counted[: len(kinds)] == counted[len(kinds) :], text


@each("evil", ["x", *EVIL])
def test_each_row_of_a_fleets_table_has_its_columns(evil: str) -> None:
    row: list[int] = []
    for token in tokens(fleet_markdown(odd(evil))):
        if token.type == "tr_open":
            row.append(0)
        elif token.type in ("td_open", "th_open"):
            row[-1] += 1
    assert row == [5, 5]  # the head and the odd node
    inside = [t.children or [] for t in tokens(fleet_markdown(odd(evil))) if t.type == "inline"]
    told = ["".join(child.content for child in cell) for cell in inside][-5:-1]
    assert told == ["n10", "driver: nvidia_driver.version", evil.replace("\n", "?"), "575.57.08"]
