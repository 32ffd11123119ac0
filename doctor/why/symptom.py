"""What a symptom's text says of the cause: the rules that it matches, and the differences that it points to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from doctor.errors import InputError
from doctor.system.given import read_given_bytes
from doctor.why.differences import Difference

_LIMIT = 64 << 20
_SOURCE, _SOURCES = 1 << 20, 20
"""Bytes of a source file, and how many of them, the last frames of a traceback."""
_FRAME = re.compile(r'^\s*File "([^"\n]{1,1000}\.py)", line \d', re.MULTILINE)
_LIBRARY = re.compile(r"\blib[\w+-]+\.so\b")
_OF_THE_LOADER = ("environment[LD_LIBRARY_PATH]", "environment[LD_PRELOAD]", "loader", "libraries")
_LEAST = 6
"""Characters of a value that is looked for in the message: `1` and `true` are in many."""

_CONDITIONS = tuple(
    (re.compile(words), re.compile(names))
    for words, names in {
        r"Connection refused|(?:Connection|Operation) timed out|No route to host|Network is unreachable"
        r"|Name or service not known|Temporary failure in name resolution": r"environment\[(?i:\w+_proxy)\]"
        r"|environment\[\w+_(?:ADDR|HOST|PORT|URL|ENDPOINT|IFNAME)\]|option\[--network\]|host\.interfaces",
        r"Permission denied|Operation not permitted": r"account|nodes"
        r"|option\[--(?:user|userns|privileged|read-only|cap-\w+|security-opt|group-add|device-cgroup-rule)\b.*",
        r"No space left on device": r"host\.shm_bytes|option\[--(?:shm-size|tmpfs\b.*)\]|environment\[TMPDIR\]",
        r"Cannot allocate memory": r"host\.memlock_bytes|option\[--(?:memory|memory-swap|ulimit memlock)\]",
        r"Too many open files": r"host\.nofile|option\[--ulimit nofile\]",
        r"Resource temporarily unavailable|can't start new thread|pthread_create failed": r"host\.nproc"
        r"|option\[--(?:pids-limit|ulimit nproc)\]",
        r"Segmentation fault": r"host\.stack_bytes|environment\[LD_(?:PRELOAD|LIBRARY_PATH)\]|option\[--ulimit stack\]",
        r"Read-only file system": r"option\[--(?:read-only|volume\b.*|tmpfs\b.*)\]",
    }.items()
)
"""Messages of the C library (errno(3)), and what each of these conditions depends on beside the program: man pages of
connect(2), getrlimit(2), mlock(2), pthread_create(3), and Docker's reference of `docker run`."""


class Pointer(NamedTuple):
    """How surely the text points to a difference (`level`), where, and why."""

    level: int
    place: int
    reason: str


NAMED, READ, POSSIBLE = 2, 1, 0
"""The text has the difference's name or BAD's value; a file of its traceback reads it; its condition depends on it."""


@dataclass(frozen=True)
class Symptom:
    """`rules` are those that its text matches, the surest first; `sources` the files of its traceback."""

    rules: tuple[str, ...] = ()
    text: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    def pointer(self, one: Difference) -> Pointer | None:
        """The surest one, and of several the last, as a traceback ends with what failed."""
        if (place := _last(_pattern(one), self.text)) >= 0:
            return Pointer(NAMED, place, "")
        if (place := self._value(one)) >= 0:
            return Pointer(NAMED, place - len(self.text), "the message has its value")
        for number, (path, text) in enumerate(self.sources.items()):
            if _last(_in_source(one), text) >= 0:
                return Pointer(READ, -number, f"{Path(path).name} reads it")
        for words, names in _CONDITIONS:
            if names.fullmatch(one.name) and (found := words.search(self.text)):
                return Pointer(POSSIBLE, 0, f"“{found[0]}” can come from it")
        return None

    def _value(self, one: Difference) -> int:
        """Where the text has what BAD has: whole, or short and behind the name in any case."""
        if not isinstance(one.bad, str) or not one.bad or one.name.startswith("packages["):
            return -1
        value = re.escape(one.bad)
        forms = [rf"(?i:\b{re.escape(_member(one))})[=:\s'\"]{{1,3}}{value}(?!\w)"]
        if len(one.bad) >= _LEAST:
            forms.append(rf"(?<![\w/.-]){value}(?![\w/-]|\.\w)")
        return _last(re.compile("|".join(forms)), self.text)


def _last(pattern: re.Pattern[str] | None, text: str) -> int:
    return max((found.start() for found in pattern.finditer(text)), default=-1) if pattern else -1


def _member(one: Difference) -> str:
    return one.name.partition("[")[2].removesuffix("]")


def _pattern(one: Difference) -> re.Pattern[str] | None:
    """A variable by its name; a package as its module or requirement is written, for many are called like words; a
    run option by the path that it is about."""
    head, member = one.name.partition("[")[0], _member(one)
    if one.name in _OF_THE_LOADER:
        return _LIBRARY
    if head == "environment":
        return re.compile(rf"(?<!\w){re.escape(member)}(?!\w)")
    if head in ("device", "option"):
        path = member.rpartition(" ")[2]
        return re.compile(rf"(?<![\w/.-]){re.escape(path)}(?![\w-])") if path.startswith("/") else None
    if head != "packages":
        return None
    word = "[-_.]".join(map(re.escape, re.split(r"[-_.]+", member)))
    word = "|".join((word, *(re.escape(name) for name in one.modules)))
    forms = (
        rf"(?:site|dist)-packages/(?:{word.replace('[.]', '/')})[/.]",
        rf"['\"`](?:{word})(?:\.\w+)*['\"`]",
        rf"\b(?:{word})(?:==|[ -]\d+\.\d|\.(?!py\b)[a-z_]\w*\()",
        rf"No module named (?:{word})\b",
    )
    return re.compile("|".join(forms), re.IGNORECASE)


def _in_source(one: Difference) -> re.Pattern[str] | None:
    """Of Python: a variable's name in quotes, an import of one of a package's modules."""
    head, member = one.name.partition("[")[0], _member(one)
    if head == "environment":
        return re.compile(rf"['\"]{re.escape(member)}['\"]")
    names = "|".join(map(re.escape, (re.sub(r"[-.]", "_", member), *one.modules)))
    return (
        re.compile(rf"^\s*(?:import|from)\s[^\n#]{{0,200}}\b(?:{names})\b", re.MULTILINE)
        if head == "packages"
        else None
    )


def read(symptom: str | None, *, is_here: bool = False) -> Symptom:
    """Of a text, or of the file that holds it. `is_here`: its traceback is of programs of this machine."""
    if not symptom:
        return Symptom()
    from doctor.engine.pasted import judge_pasted
    from doctor.knowledge import Knowledge
    from doctor.triage.read import read_pasted

    path = Path(symptom)
    text = read_given_bytes(path, _LIMIT) if len(symptom) < 4096 and path.is_file() else symptom.encode()
    report = judge_pasted(read_pasted([text]), Knowledge())
    rules = dict.fromkeys([*(f.rule for f in report.findings), *(h.rule for h in report.hints)])
    said = text.decode("utf-8", "replace")
    return Symptom(tuple(rules), said, _sources(said) if is_here else {})


def _sources(text: str) -> dict[str, str]:
    """The files of the last frames, the last one first. Nothing of them is printed."""
    found: dict[str, str] = {}
    for path in list(dict.fromkeys(reversed(_FRAME.findall(text))))[:_SOURCES]:
        with suppress(InputError):
            found[path] = read_given_bytes(Path(path), _SOURCE).decode("utf-8", "replace")
    return found
