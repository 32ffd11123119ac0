"""Numbered lines -> fragments: runs of lines that belong together, cut at Markdown fences and at shell prompts.

A fragment keeps every line of its run, so that line N of it is line `first + N - 1` of the text. What stood at the
prompt is its `command`.

>>> [f.command for f in fragments(enumerate(["```", "$ id", "uid=0(root)", "```"], 1))]
['id', 'id']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LINES_LIMIT = 4000
CHARS_LIMIT = 200_000
"""A longer run is handed on in pieces."""

_FENCE = re.compile(r"\s{0,8}(?:[-*] )?(`{3,}(?!`|[^`]{1,400}```)|~{3,})")
_SAID_BEHIND = re.compile(r"\s{0,4}(\w\S* \S+ \S.*)$")
"""Three words or more behind the mark of a fence: its first line of output, not the name of a language."""
_TOOLS = (
    "nvidia-smi|rocminfo|rocm-smi|amd-smi|dmesg|journalctl|uname|id|groups|ls|cat|env|export|printenv|pip3?|uv|conda|"
    "mamba|nvcc|docker|podman|nerdctl|apptainer|singularity|lspci|lsmod|python3?|sudo|grep|echo|hipcc|hipconfig|modinfo|"
    "lshw|ldd|ulimit|kubectl|nvidia-ctk|nvidia-container-cli|apt|dkms|mokutil|clinfo|ldconfig|dpkg|rpm|getent"
)
_PROSE = (
    "also|and|are|as|but|can|cannot|commands?|could|did|does|fails?|failed|finds?|found|from|gave|gives?|had|hangs?|has"
    "|inside|installed|is|itself|listed|lists|now|on|only|or|output|outputs|prints?|printed|reported|reports|returned"
    "|returns|runs|said|saw|says|sees|showed|shows|still|then|took|tells|was|were|will|with|without|worked|working|works"
)
"""Words after a tool's name that begin a sentence on it: `nvidia-smi shows the GPU` is no command."""
_SPOKEN = r"(?:finds|gives|lists|prints|reported|reports|returns|says|sees|showed|shows|tells)"
"""The same behind a tool's own word: `docker info lists nvidia`, `pip list shows torch 2.6`."""
_PROMPT = re.compile(
    r"\s{0,8}(?:\([\w.~/-]{1,60}\) ?)?"
    r"(?:\[?[\w.-]{1,40}@[\w.-]{1,80}[ :][^$#>\n]{0,120}[$#]|[$❯➜]|PS [A-Z]:[^>]{0,120}>|sh-[\d.]{1,8}[$#]|"
    rf"bash-[\d.]{{1,8}}[$#]|#(?= (?:{_TOOLS})\b)|(?:root|user)[\w@.:~/-]{{0,80}}[#$])\s+(?P<command>\S.*)$"
)
_BARE = re.compile(
    rf"\s{{0,8}}(?:sudo )?(?:{_TOOLS})(?! (?:{_PROSE})\b)(?! [a-z]{{2,12}} {_SPOKEN} )"
    r"(?: -?[\w./=,|*-]{1,60}(?::[\w./=,*-]{1,40}){0,3}){0,8}\s*$"
)
_SECTION = re.compile(
    r"(?:\*\*\* (?P<file>/[\w./*-]{2,200})|(?:/usr)?(?:/local)?/s?bin/(?P<run>[\w-]{2,40}(?: [^<>|;&]{1,160})?)"
    r"|={3,80} ?Section: (?P<name>[\w ./()-]{2,80}?)\s{0,60}={3,80})\s*$"
)
"""How nvidia-bug-report.log names the file or command that a section shows, and rocm_techsupport.sh the section."""
_SCRIPT = ("#!/", "#SBATCH", "#PBS ", "#BSUB ", "#$ -")
"""Lines that only a script has: what is behind a `# ` there is a comment."""
_SECTION_STARTS = frozenset(("***", "/us", "/bi", "/sb", "==="))


@dataclass
class Fragment:
    """A run of lines. `command` is '' where the text names none; `typed` marks the prompt line itself, whose text is
    the command and not output, behind its `prompt`."""

    first: int
    command: str = ""
    fenced: bool = False
    typed: bool = False
    prompt: str = ""
    lines: list[str] = field(default_factory=list)
    chars: int = 0

    def add(self, line: str) -> None:
        self.lines.append(line)
        self.chars += len(line) + 1

    @property
    def at(self) -> bool:
        """The prompt names user and host, which manuals seldom write."""
        return "@" in self.prompt

    @property
    def full(self) -> bool:
        return len(self.lines) >= LINES_LIMIT or self.chars >= CHARS_LIMIT

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def blank(self) -> bool:
        return not any(line.strip() for line in self.lines)


def fragments(lines: Iterable[tuple[int, str]]) -> Iterator[Fragment]:
    """Every line of the text in exactly one fragment, but for fences and blank runs."""
    cutter = _Cutter()
    for number, line in lines:
        yield from cutter.take(number, line)
    yield from cutter.flush()


class _Cutter:
    """Where the reading of one text is."""

    def __init__(self) -> None:
        self.fence = ""
        self.run = Fragment(1)
        self.continued = False
        self.script = False

    def take(self, number: int, line: str) -> Iterator[Fragment]:
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark and (not self.fence or (mark[1][0] == self.fence[0] and len(mark[1]) >= len(self.fence))):
            yield from self.flush()
            self.script = False
            self.fence = "" if self.fence else mark[1]
            self._start(number + 1, "")
            if self.fence and (said := _SAID_BEHIND.match(line, mark.end())):
                self._start(number, "")
                self.run.add(said[1])
            return
        if line[:3] in _SECTION_STARTS and (section := self._section(line)):
            yield from self.flush()
            self._start(number + 1, section)
            return
        if self.continued:
            self.run.add(line)
            self.continued = line.rstrip().endswith("\\") and not self.run.full
            if not self.continued:
                yield from self._typed(number)
            return
        self.script = self.script or line.startswith(_SCRIPT)
        command = self._command(line)
        if command:
            yield from self.flush()
            self.script = False
            self.run = Fragment(number, command, bool(self.fence), typed=True, prompt=line[: line.index(command)])
            self.run.add(command)
            self.continued = command.rstrip().endswith("\\")
            if not self.continued:
                yield from self._typed(number)
            return
        if self.run.full:
            command = self.run.command
            yield from self.flush()
            self._start(number, command)
        self.run.add(line)

    def _section(self, line: str) -> str:
        """The command (or `cat` of the file) that a section of a vendor's report shows."""
        found = _SECTION.match(line) if len(line) < 400 else None
        if not found or line.startswith("*** ls:"):
            return ""
        return f"cat {found['file']}" if found["file"] else found["run"] or found["name"].strip().lower()

    def _typed(self, number: int) -> Iterator[Fragment]:
        """Hand on the prompt line; what follows is its output."""
        command = " ".join(line.rstrip("\\ \t") for line in self.run.lines)
        yield self.run
        self._start(number + 1, command[:2000])

    def _command(self, line: str) -> str:
        head = line[:200].lstrip()[:1]
        if not head or len(line) > 4000:
            return ""
        if "$" in line or "#" in line or head in "$#❯➜P":
            found = _PROMPT.match(line)
            commented = line.lstrip().startswith("#") and (self.script or not self.fence)
            if found and not commented:
                return found["command"]
        if self.fence and not self.run.lines and head.isalpha() and _BARE.match(line):
            return line.strip()
        return ""

    def _start(self, number: int, command: str) -> None:
        self.run = Fragment(number, command, bool(self.fence))

    def flush(self) -> Iterator[Fragment]:
        if not self.run.blank:
            yield self.run
        self.run = Fragment(self.run.first + len(self.run.lines), "", bool(self.fence))
        self.continued = False
