"""What somebody pasted does nothing in the reply: no mention, link, reference, HTML, fence or control sign."""

from __future__ import annotations

import re

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.report.formats import markdown
from doctor.triage.read import read_text
from tests.each import each
from tests.parsers.surface import unclean

HOSTILE = (
    "@octocat", "_@octocat_", "me@evil.example", "<img src=x onerror=alert(1)>", "<!--", "[x](javascript:alert(1))",
    "javascript:alert(1)", "HTTPS://evil.example", "http://evil.example", "www.evil.example", "WWW.evil.example", "#12",
    "GH-5", "org/repo#3", "```", "~~~~", "\x1b[31m", "\x9b2J", "\u202e", "\u2066", "![x](http://evil.example/i.png)",
    "&#64;octocat", "mailto:me@evil.example",
)  # fmt: skip
ACTIVE = re.compile(
    r"@\w|(?<!\\)[<>`]|(?<!\\)\[|https?://|www\.|#\d|GH-\d|(?:javascript|mailto):\w", re.IGNORECASE
)  # fmt: skip


@each("text", HOSTILE)
def test_a_line_of_it_is_inert(text: str) -> None:
    shown = markdown.inert(f"before {text} after")
    assert not ACTIVE.search(shown)
    assert not unclean(shown)


@each("text", HOSTILE)
def test_a_code_span_of_it_holds(text: str) -> None:
    shown = markdown.code(text)
    ticks = re.match(r"`+", shown)
    assert ticks
    inside = shown[len(ticks[0]) : -len(ticks[0])]
    assert ticks[0] not in re.findall(r"`+", inside)
    assert not unclean(shown)


@each("text", HOSTILE)
def test_a_reply_to_a_hostile_paste_is_inert_outside_of_code(text: str) -> None:
    paste = (
        f"GPU: RX 7900 XTX {text}\nROCm version: 6.2 {text}\n"
        f"RuntimeError: {text} CUDA error: no kernel image is available for execution on the device {text}\n"
        f"[ 4.1] NVRM: Xid (PCI:0000:3b:00): 79, {text} GPU has fallen off the bus. {text}\n"
    )
    reply = markdown.render(judge(read_text([paste.encode()]), Knowledge()))
    assert not unclean(reply.replace("\n", " "))
    prose = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"(?ms)^(`{3,})sh$.*?^\1$", "", reply))
    assert "octocat" not in prose or not re.search(r"@octocat", prose)
    assert "<img" not in re.sub(r"\\<", "", prose)
    assert "](javascript" not in prose.replace("\\](", "")
    assert "evil.example" not in prose or not re.search(r"https?://evil", prose, re.IGNORECASE)
