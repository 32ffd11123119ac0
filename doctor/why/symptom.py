"""What a symptom's text says of the cause: the rules that it matches, and the differences that it points to."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from keyword import iskeyword
from pathlib import Path
from typing import NamedTuple

from doctor.errors import InputError
from doctor.system.given import read_given_bytes
from doctor.why.differences import Difference

_LIMIT, _MESSAGE = 64 << 20, 64 << 10
"""Bytes that are read of a file, and those at its end in which differences are looked for."""
_SOURCE, _SOURCES = 1 << 20, 20
"""Bytes of a source file, and how many of them, the last frames of a traceback."""
_FRAME = re.compile(r'^\s*File "([^"\n]{1,1000}\.py)", line (\d{1,7})\b.*$', re.MULTILINE)
_LIBRARY = re.compile(r"\blib[\w+-]+\.so\b")
_OF_THE_LOADER = ("environment[LD_LIBRARY_PATH]", "environment[LD_PRELOAD]", "loader", "libraries")
_LEAST = 6
"""Characters of a value that is looked for in the message: `1` and `true` are in many."""
_COMMON = {"true", "false", "yes", "no", "on", "off", "none", "null", "all", "auto"}
_NAME = re.compile(r"[A-Za-z_]\w*")
_BINDS = ("from ", "import ", "for ", "with ")

_CONDITIONS = tuple(
    (re.compile(words, re.IGNORECASE), re.compile(names))
    for words, names in {
        r"Connection refused|(?:Connection|Operation) timed out|No route to host|Network is unreachable"
        r"|ProxyError|Name or service not known|Temporary failure in name resolution": r"environment\[(?i:\w+_proxy)\]"
        r"|environment\[\w+_(?:ADDR|HOST|PORT|URL|ENDPOINT|IFNAME)\]|option\[--network\]|host\.interfaces",
        r"Permission denied|Operation not permitted": r"account|nodes"
        r"|option\[--(?:user|userns|privileged|read-only|cap-\w+|security-opt|group-add|device-cgroup-rule)\b.*",
        r"No space left on device": r"host\.shm_bytes|option\[--(?:shm-size|tmpfs\b.*)\]|environment\[TMPDIR\]",
        r"Cannot allocate memory|MemoryError|bad_alloc": r"host\.(?:memlock|as)_bytes"
        r"|option\[--(?:memory|memory-swap|ulimit memlock)\]",
        r"File too large": r"option\[--ulimit fsize\]",
        r"\b(?:401|403)\b|Unauthorized|AuthenticationError|authentication failed|Access ?Denied": r"environment"
        r"\[\w*(?:TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL)\w*\]",
        r"Too many open files": r"host\.nofile|option\[--ulimit nofile\]",
        r"Resource temporarily unavailable|can't start new thread|pthread_create failed": r"host\.nproc"
        r"|option\[--(?:pids-limit|ulimit nproc)\]",
        r"Segmentation fault": r"host\.stack_bytes|environment\[LD_(?:PRELOAD|LIBRARY_PATH)\]|option\[--ulimit stack\]",
        r"certificate verify failed": r"environment\[(?:SSL_CERT_(?:FILE|DIR)|\w+_CA_BUNDLE)\]",
        r"codec can't (?:en|de)code|unsupported locale": r"environment\[(?:LANG|LC_\w+|PYTHON(?:UTF8|IOENCODING))\]",
        r"Address already in use": r"environment\[\w+_PORT\]|option\[--network\]",
        r"AF_UNIX path too long|No usable temporary directory": r"environment\[(?:TMPDIR|TEMP|TMP)\]",
        r"Dist(?:Store|Network)Error|TCPStore|clients joined": r"environment\[(?:MASTER_\w+|RANK|WORLD_SIZE)\]",
        r"outgoing traffic has been disabled": r"environment\[\w+_OFFLINE\]",
        r"Read-only file system": r"option\[--(?:read-only|volume\b.*|tmpfs\b.*)\]",
    }.items()
)
"""Messages of the C library (errno(3)), OpenSSL, Python, torch and huggingface_hub, and what each of these conditions
depends on beside the program: connect(2), bind(2), getrlimit(2), mlock(2), pthread_create(3), unix(7),
SSL_CTX_load_verify_locations(3), Python's, torch.distributed's (init_method env://) and huggingface_hub's documentation
of their variables, and Docker's reference of `docker run`."""


class Pointer(NamedTuple):
    """How surely the text points to a difference (`level`), where, and why."""

    level: int
    place: int
    reason: str


NAMED, READ, POSSIBLE = 2, 1, 0
"""The text has the difference's name or BAD's value; a file of its traceback reads it, or the text has a part of BAD's
value; its condition depends on it."""


@dataclass(frozen=True)
class Source:
    """A file of the traceback, and the names that its failing lines depend on."""

    text: str
    names: set[str]


@dataclass(frozen=True)
class Symptom:
    """`rules` are those that its text matches, the surest first; `sources` the files of its traceback."""

    rules: tuple[str, ...] = ()
    text: str = ""
    sources: Mapping[str, Source] = field(default_factory=dict)

    def pointer(self, one: Difference) -> Pointer | None:
        """The surest one, and of several the last, as a traceback ends with what failed."""
        if (place := _last(_pattern(one), self.text)) >= 0:
            return Pointer(NAMED, place, "")
        if (place := self._value(one, one.bad)) >= 0:
            return Pointer(NAMED, place - len(self.text), "the message has its value")
        words = self._words(one)
        if words >= 0 and one.bad is None and one.name.startswith("packages["):
            return Pointer(NAMED, words - len(self.text), "")
        for number, (path, source) in enumerate(self.sources.items()):
            if _last(_in_source(one), source.text) >= 0:
                is_used = not source.names.isdisjoint(_names(one))
                return Pointer(READ, is_used - 2 * number, f"{Path(path).name} reads it")
        if (place := self._part(one)) >= 0:
            return Pointer(READ, place - len(self.text), "the message has a part of its value")
        if (place := self._value(one, one.good)) >= 0:
            return Pointer(READ, place - len(self.text), "the message has the value of the other side")
        if words >= 0:
            return Pointer(READ, words - len(self.text), "the message has the words of its name")
        for message, names in _CONDITIONS:
            if names.fullmatch(one.name) and (found := message.search(self.text)):
                return Pointer(POSSIBLE, 0, f"“{found[0]}” can come from it")
        return None

    @cached_property
    def _without_frames(self) -> str:
        return _FRAME.sub("", self.text)

    def _value(self, one: Difference, value: object) -> int:
        """Where the text has this value of it: whole, or short and in quotes or behind the name in any case."""
        if not isinstance(value, str) or not value or one.name.startswith("packages["):
            return -1
        forms = [rf"(?i:\b{re.escape(_member(one))})[=:\s'\"]{{1,3}}{re.escape(value)}(?!\w)"]
        if len(value) >= _LEAST:
            forms.append(_form(value))
        elif value.lower() not in _COMMON and re.search("[A-Za-z]", value):
            forms.append(rf"['\"`]{re.escape(value)}['\"`]")
        return _last(re.compile("|".join(forms)), self.text)

    def _words(self, one: Difference) -> int:
        """Where the text has a package's name as a word, or all of the words that a variable's name is made of."""
        head, member = one.name.partition("[")[0], _member(one)
        words = re.split(r"[-_.]+", member) if head == "environment" else [member] * (head == "packages")
        if (len(words) < 2 and head == "environment") or any(len(word) < _LEAST // 2 for word in words):
            return -1
        forms = [re.compile(rf"(?i:(?<![a-z\d-]){re.escape(word)}(?![a-z\d-]))") for word in words]
        return min((_last(form, self._without_frames) for form in forms), default=-1)

    def _part(self, one: Difference) -> int:
        """Where the text has a word, option or path of BAD's value which GOOD's lacks, or a path below that one."""
        if not one.name.startswith("environment[") or not isinstance(one.bad, str):
            return -1
        words = {*re.split(r"[\s,:=]+", one.bad)} - {*re.split(r"[\s,:=]+", one.good or "")}
        forms = [_form(word, below="/") for word in words if len(word) >= _LEAST or re.match(r"--?\w", word)]
        return _last(re.compile("|".join(forms)) if forms else None, self._without_frames)


def _form(text: str, below: str = "") -> str:
    """As a whole word; a path also where it goes on (`below`)."""
    return rf"(?<![\w/.-]){re.escape(text)}(?![\w{'' if text.startswith('/') and below else '/'}-]|\.\w)"


def _last(pattern: re.Pattern[str] | None, text: str) -> int:
    return max((found.end() for found in pattern.finditer(text)), default=-1) if pattern else -1


def _member(one: Difference) -> str:
    return one.name.partition("[")[2].removesuffix("]")


def _pattern(one: Difference) -> re.Pattern[str] | None:
    """A variable by its name; a package as its module or requirement is written, for many are called like words; a
    run option by the path that it is about."""
    head, member = one.name.partition("[")[0], _member(one)
    if one.name in _OF_THE_LOADER:
        return _LIBRARY
    if head == "environment":
        option = "-".join(member.lower().split("_")[1:])  # --allow-run-as-root of OMPI_ALLOW_RUN_AS_ROOT
        return re.compile(rf"(?<!\w){re.escape(member)}(?!\w)" + rf"|(?<!\w)--{option}(?![\w-])" * ("-" in option))
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


def _names(one: Difference) -> tuple[str, ...]:
    """What a program calls it: a variable's name, a package's modules."""
    return (re.sub(r"[-.]", "_", _member(one)), *one.modules)


def _in_source(one: Difference) -> re.Pattern[str] | None:
    """Of Python: a variable's name in quotes, an import of one of a package's modules."""
    head, member = one.name.partition("[")[0], _member(one)
    if head == "environment":
        return re.compile(rf"['\"]{re.escape(member)}['\"]")
    names = "|".join(map(re.escape, _names(one)))
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
    said = text[-_MESSAGE:].decode("utf-8", "replace")
    return Symptom(tuple(rules), said, _sources(said) if is_here else {})


def _sources(said: str) -> dict[str, Source]:
    """The files of the last frames, the last one first. Nothing of them is printed."""
    found: dict[str, Source] = {}
    frames = [(path, int(line)) for path, line in _FRAME.findall(said)]
    for path in list(dict.fromkeys(path for path, _ in reversed(frames)))[:_SOURCES]:
        with suppress(InputError):
            text = read_given_bytes(Path(path), _SOURCE).decode("utf-8", "replace")
            found[path] = Source(text, _depended_on(text, {line for name, line in frames if name == path}))
    return found


def _depended_on(text: str, numbers: Collection[int]) -> set[str]:
    """The names on these lines of Python, and those on lines above which bind one of them (a slice of the program)."""
    lines = text.splitlines()
    names = {name for number in numbers if 0 < number <= len(lines) for name in _words(lines[number - 1])}
    for line in reversed(lines[: max(numbers)]):
        bound = line.partition("=")[0] if "=" in line else ""
        is_binding = line.lstrip().startswith(_BINDS)
        for part in line.split(",") if line.lstrip().startswith("import ") else (line,):
            if names & _words(part if is_binding else "" if "(" in bound else bound):
                names |= _words(part)
    return names


def _words(line: str) -> set[str]:
    return {word for word in _NAME.findall(line) if not iskeyword(word)}
