"""What torch printed of itself where somebody asked: a Python session, `python -c`, or a remark behind the call.

>>> sheet = read(">>> torch.__version__, torch.cuda.is_available()\\n('2.6.0', False)")
>>> sheet.get("torch.version"), sheet.get("torch.available")
('2.6.0', False)
>>> read("print(torch.version.cuda)   # 12.4").get("torch.cuda")
'12.4'
>>> read("torch.version.cuda is None, torch.version.hip is 6.1.40091").get("torch.build")
'rocm'
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.python.torch_build import build_facts

PASTED = (
    {
        "trust": 680,
        "words": ("torch.__version__", "torch.version.", "is_available()", "get_device_name(", "get_arch_list("),
        "commands": ("print(torch.",),
        "takes_command": True,
    },
)

_NONE = "none"
"""What stands for an answer of None until both are known."""
_Rows = list[tuple[str, object, str]]
"""What was printed, in the order of the text: name, value, place."""
_LINE_LIMIT = 600
_ASKED_LIMIT = 8
_ASKED = re.compile(
    r"\btorch\.(__version__|version\.cuda|version\.hip|cuda\.is_available\(\)|cuda\.get_device_name\([^()]{0,20}\)"
    r"|cuda\.get_arch_list\(\))"
)
_REMARK = re.compile(r"#\s{0,3}(?:->|=>|→)?\s{0,3}(\S.{0,200})$")
_ARROW = re.compile(r"\)?\s{0,3}(?:->|=>|→|==?>)\s{0,3}(\S.{0,200})$")
_PRINTED = re.compile(
    r"\btorch\.(__version__|version\.cuda|version\.hip|cuda\.is_available\(\))\)?[`'\"]{0,2}"
    r"(?:\s{1,3}(?:always |still |now )?(?:is|was|shows|gives|says|prints|returns|reports)\s{1,3}"
    r"|\s{0,3}[:=]{1,2}\s{0,3})"
    r"[`'\"]{0,2}([\w.+-]{1,60})"
)
"""What somebody says that it printed."""
_NO_ANSWER = re.compile(
    r"\b(?:if|elif|assert|return|raise|while|else|lambda|and not|or|should|must|expect\w*|when|where|unless|unlike"
    r"|before|instead|earlier|other|another|until)\b|[{};]",
    re.IGNORECASE,
)
"""A line of a program, and words on another environment or another day."""
_PROMPT = re.compile(r"^\s{0,8}(?:>>>|\.\.\.|In \[\d{1,4}\]:|Out\[\d{1,4}\]:)\s?")
_TUPLE = re.compile(r"\s{0,4}\((.{1,400})\)\s*$")
_VERSION = re.compile(r"\d{1,2}\.\d{1,2}\.\d{1,3}[\w.+-]{0,60}$")
_NUMBERS = re.compile(r"\d{1,2}\.\d{1,2}(?:[\w.-]{0,40})$")
_ARCH = re.compile(r"\b(?:sm_\d{2,3}[af]?|compute_\d{2,3}|gfx[0-9a-f]{3,4})\b")


def read(text: str, source: str = "text", command: str = "") -> FactSheet:
    """Only an answer of the form that the call gives counts. The question may be the command that printed the text:
    `python -c "import torch; print(torch.__version__)"`. Raises ParserError without an answer."""
    rows: _Rows = []
    waiting: list[str] = _ASKED.findall(command[:_LINE_LIMIT])[:_ASKED_LIMIT] if "print" in command else []
    for where, line in source_lines(text, source):
        line = line[:_LINE_LIMIT]
        asked = _ASKED.findall(line)[:_ASKED_LIMIT] if "torch." in line else []
        if asked and _printed(rows, where, line):
            waiting = []
        elif asked:
            waiting = [] if _answered(rows, where, line, asked) else asked
        elif waiting and (answer := _PROMPT.sub("", line).strip()):
            waiting = _answer(rows, where, answer, waiting)
    if not rows:
        raise ParserError("nothing that torch printed of itself")
    sheet = FactSheet()
    for name, value, place in _of_the_right_environment(_without_backend(rows)):
        sheet.put(name, value, place)
    if not len(sheet):
        raise ParserError("nothing that torch printed of itself")
    return sheet


def _without_backend(rows: _Rows) -> _Rows:
    """With the build that both answers give: where neither CUDA's version nor HIP's is any, torch is a CPU build. One
    of them alone is None in every build for the other vendor."""
    none = {str(value): place for name, value, place in rows if name == _NONE}
    rest = [row for row in rows if row[0] != _NONE]
    if len(none) < 2 or any(name == "torch.build" and value in ("cuda", "rocm") for name, value, _ in rest):
        return rest
    return [*(row for row in rest if row[0] != "torch.build"), ("torch.build", "cpu", none["hip"])]


def _of_the_right_environment(rows: _Rows) -> _Rows:
    """Without a CPU build's output where a build for a GPU sees one afterwards: that was another environment."""
    builds = [value for name, value, _ in rows if name == "torch.build"]
    sees = [value for name, value, _ in rows if name == "torch.available"]
    if "cpu" not in builds or builds[-1] not in ("cuda", "rocm") or not sees or sees[-1] is not True:
        return rows
    last = max(place for place, (name, value, _) in enumerate(rows) if (name, value) == ("torch.build", "cpu"))
    return [
        row
        for place, row in enumerate(rows)
        if not (row[0] == "torch.available" and row[1] is False)
        and not (place <= last and row[0] in ("torch.installed", "torch.version", "torch.build"))
    ]


def _answered(rows: _Rows, where: str, line: str, asked: list[str]) -> bool:
    """Whether the answer is on the line of the question."""
    if len(asked) != 1:
        return False
    found = _REMARK.search(line) or _ARROW.search(line)
    return found is not None and _take(rows, where, asked[0], found[1])


def _printed(rows: _Rows, where: str, line: str) -> bool:
    """Whether the line tells in words what one of them is."""
    if _NO_ANSWER.search(line):
        return False
    answers = [_take(rows, where, name, answer.rstrip(".")) for name, answer in _PRINTED.findall(line)]
    return any(answers)


def _answer(rows: _Rows, where: str, line: str, waiting: list[str]) -> list[str]:
    """What is still waited for after a line: a tuple or a row of words answers all, one word the first."""
    inner = _TUPLE.match(line)
    apart, words = (", ", inner[1]) if inner else (None, line)
    named = waiting[-1].startswith("cuda.get_device_name")  # of several words
    parts = [part.strip() for part in words.split(apart, len(waiting) - 1 if named else -1)]
    if len(waiting) > 1 and len(parts) == len(waiting):
        fits = _take(rows, where, waiting[0], parts[0])
        if not inner and not fits:  # words of another form: a message of the call that failed
            return waiting
        for asked, part in zip(waiting[1:], parts[1:], strict=True):
            _take(rows, where, asked, part)
        return []
    return waiting[1:] if _take(rows, where, waiting[0], line) else []


def _take(rows: _Rows, where: str, asked: str, answer: str) -> bool:
    take = _TAKES[asked.partition("(")[0]]
    facts = take(kept(answer, 300).strip("'\"` ,;"))
    rows.extend((name, value, where) for name, value in facts.items())
    return bool(facts)


def _version(answer: str) -> dict[str, object]:
    return dict(build_facts(answer)) if _VERSION.match(answer) else {}


def _cuda(answer: str) -> dict[str, object]:
    if answer == "None":
        return {_NONE: "cuda"}
    return {"torch.build": "cuda", "torch.cuda": answer} if _NUMBERS.match(answer) else {}


def _hip(answer: str) -> dict[str, object]:
    if answer == "None":
        return {_NONE: "hip"}
    return {"torch.build": "rocm", "torch.rocm": answer.partition("-")[0]} if _NUMBERS.match(answer) else {}


def _available(answer: str) -> dict[str, object]:
    word = answer.removeprefix("return ").lower()
    return {"torch.available": word == "true"} if word in ("true", "false") else {}


def _device(answer: str) -> dict[str, object]:
    low = answer.lower()
    vendor = (
        "nvidia"
        if re.search(r"nvidia|geforce|tesla|quadro|rtx|^(?:orin|xavier|thor)\b", low)  # a Jetson's name is its chip's
        else "amd"
        if "amd" in low or "radeon" in low
        else ""
    )
    if not vendor or len(answer) > 80 or ":" in answer:  # a message of the call that failed
        return {}
    # the call fails where torch has no GPU
    return {"gpus[#0].vendor": vendor, "gpus[#0].name": answer, "torch.available": True}


def _archs(answer: str) -> dict[str, object]:
    found = _ARCH.findall(answer)
    return {"torch.arch_list": found} if found and answer.startswith("[") else {}


_TAKES: dict[str, Callable[[str], dict[str, object]]] = {
    "__version__": _version,
    "version.cuda": _cuda,
    "version.hip": _hip,
    "cuda.is_available": _available,
    "cuda.get_device_name": _device,
    "cuda.get_arch_list": _archs,
}
