"""Asks for what `wanted` names, while the probes run: each in a child of its own under the check's one deadline, so
that what hangs costs only itself. The answers come with the recording, under keys of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from doctor.bundle.pack import LeftOut
from doctor.diagnosis.registry import Probe

if TYPE_CHECKING:
    from doctor.bundle.wanted import Ask
    from doctor.facts.sheet import FactSheet
    from doctor.system.base import System
    from doctor.system.recorder import Recorder

PREFIX = "extra:"
DEADLINE_S = 9.0
TEXT_LIMIT = 2 << 20
"""Characters of one text that are kept, its end where it is longer."""
_TOGETHER = 12
"""Small files that one child reads; it tells of each as soon as it has it."""
_ENGINE_STATE = {"version": ("version",), "info": ("info",), "ps": ("ps", "-a", "--no-trunc")}
_CONTAINERS = 16

Text = tuple[str, str, str]
"""Name in the bundle, origin, content."""
Entries = dict[str, dict[str, Any]]


def errands(system: System, asks: Sequence[Ask]) -> list[Probe]:
    """Probes that tell no fact. Commands that are not there are told without a child."""
    commands = [ask for ask in asks if ask.kind != "file" and system.which(ask.words[0]).known]
    files = [ask for ask in asks if ask.kind == "file" and ask not in commands]
    several = [files[n : n + _TOGETHER] for n in range(0, len(files), _TOGETHER)]
    return [_errand(group) for group in (*([ask] for ask in commands), *several)]


def _errand(asks: Sequence[Ask]) -> Probe:
    def run(recorder: Recorder, _sheet: FactSheet) -> None:
        for ask in asks:
            for name, origin, text, why in _answers(recorder.inner, ask):
                assert recorder.listener is not None
                recorder.listener(PREFIX + name, {"source": origin, "text": text, "why": why})

    return Probe(f"extra {asks[0].name}", run)


def _answers(system: System, ask: Ask) -> Iterator[tuple[str, str, str, str]]:
    """Name, origin, text and, where there is none, why."""
    if ask.kind == "file":
        yield (ask.name, ask.origin, *_of_file(system, ask.words[0]))
    elif ask.kind == "command":
        yield (ask.name, ask.origin, *_of_command(system, ask.words))
    else:
        yield from _of_engine(system, ask)


def _of_engine(system: System, ask: Ask) -> Iterator[tuple[str, str, str, str]]:
    for name, words in _ENGINE_STATE.items():
        argv = (*ask.words, *words)
        yield (f"{ask.name}-{name}.txt", "command:" + " ".join(argv), *_of_command(system, argv))
    listed = system.run((*ask.words, "ps", "-aq", "--no-trunc"), deadline_s=DEADLINE_S / 2).value
    ids = [word for word in (listed.stdout.split() if listed and listed.code == 0 else []) if word.isalnum()]
    if ids:
        text, why = _of_command(system, (*ask.words, "inspect", *ids[:_CONTAINERS]))
        yield (f"{ask.name}-inspect.json", "command:" + " ".join((*ask.words, "inspect")), text, why)


def _of_command(system: System, argv: Sequence[str]) -> tuple[str, str]:
    ran = system.run(argv, deadline_s=DEADLINE_S)
    output = ran.value
    if output is None:
        return "", ran.detail or ran.state.value
    text = output.stdout + (f"\n[stderr]\n{output.stderr}" if output.stderr.strip() else "")
    return _end_of(text), "" if text.strip() else f"printed nothing, exit code {output.code}"


def _of_file(system: System, path: str) -> tuple[str, str]:
    found = system.stat(path).value
    if found and found.kind == "file" and found.size > TEXT_LIMIT:
        tail = system.read_bytes(path, offset=found.size - TEXT_LIMIT, length=TEXT_LIMIT)
        text, why = (tail.value or b"").decode("utf-8", "replace"), tail.detail or tail.state.value
        text = text.partition("\n")[2]
    else:
        reading = system.read_text(path, limit=TEXT_LIMIT * 4)
        text, why = _end_of(reading.value or ""), reading.detail or reading.state.value
        if reading.known and not text.strip():
            why = "empty"
    if text.count("\ufffd") * 20 > len(text):
        return "", "no text"
    return text, "" if text.strip() else why


def _end_of(text: str) -> str:
    """Its end, from the beginning of a line on."""
    return text if len(text) <= TEXT_LIMIT else text[-TEXT_LIMIT:].partition("\n")[2]


def taken(entries: Entries, asks: Sequence[Ask], system: System) -> tuple[list[Text], list[LeftOut]]:
    """Takes the answers out of a recording: texts, and what was asked in vain."""
    answers = {key[len(PREFIX) :]: entries.pop(key) for key in [k for k in entries if k.startswith(PREFIX)]}
    texts = [(name, row["source"], row["text"]) for name, row in sorted(answers.items()) if row["text"]]
    must = {ask.name for ask in asks if ask.must}
    out = [
        LeftOut(row["source"], row["why"])
        for name, row in sorted(answers.items())
        if row["why"] and (name in must or row["why"] not in ("absent", "ENOENT"))
    ]
    out += [LeftOut(ask.origin, _why_not(system, ask)) for ask in asks if not _answered(ask, answers)]
    return texts, out


def _answered(ask: Ask, answers: Entries) -> bool:
    return ask.name in answers or any(name.startswith(f"{ask.name}-") for name in answers)


def _why_not(system: System, ask: Ask) -> str:
    """Of what gave no answer at all: there is no such program, or it hung."""
    if ask.kind != "file":
        there = system.which(ask.words[0])
        if not there.known:
            return there.detail or there.state.value
    return "no answer in time"
