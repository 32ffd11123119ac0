"""What a symptom's text says of the cause: the rules that it speaks of, and the differences that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from doctor.system.given import read_given_bytes
from doctor.why.differences import Difference

_LIMIT = 64 << 20
_LIBRARY = re.compile(r"\blib[\w+-]+\.so\b")
_OF_THE_LOADER = ("environment[LD_LIBRARY_PATH]", "environment[LD_PRELOAD]", "loader", "libraries")


@dataclass(frozen=True)
class Symptom:
    """`rules` are those that its text speaks of, the surest first."""

    rules: tuple[str, ...] = ()
    text: str = ""

    def place(self, one: Difference) -> int:
        """Where its text names a difference last, as a traceback does what failed; -1 where it does not."""
        pattern = _LIBRARY if one.name in _OF_THE_LOADER else _pattern(one.name)
        return max((found.start() for found in pattern.finditer(self.text)), default=-1) if pattern else -1


def _pattern(name: str) -> re.Pattern[str] | None:
    """A variable by its name; a package as its module or requirement is written, for many are called like words."""
    head, _, member = name.removesuffix("]").partition("[")
    if head == "environment":
        return re.compile(rf"(?<!\w){re.escape(member)}(?!\w)")
    if head != "packages":
        return None
    word = "[-_.]".join(map(re.escape, re.split(r"[-_.]+", member)))
    forms = (
        rf"(?:site|dist)-packages/{word}[/.]",
        rf"['\"`]{word}(?:\.\w+)*['\"`]",
        rf"\b{word}(?:==|[ -]\d+\.\d|\.(?!py\b)[a-z_]\w*\()",
        rf"No module named {word}\b",
    )
    return re.compile("|".join(forms), re.IGNORECASE)


def read(symptom: str | None) -> Symptom:
    """Of a text, or of the file that holds it."""
    if not symptom:
        return Symptom()
    from doctor.engine.pasted import judge_pasted
    from doctor.knowledge import Knowledge
    from doctor.triage.read import read_pasted

    path = Path(symptom)
    text = read_given_bytes(path, _LIMIT) if len(symptom) < 4096 and path.is_file() else symptom.encode()
    report = judge_pasted(read_pasted([text]), Knowledge())
    rules = dict.fromkeys([*(f.rule for f in report.findings), *(h.rule for h in report.hints)])
    return Symptom(tuple(rules), text.decode("utf-8", "replace"))
