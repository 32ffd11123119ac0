"""Asks for what `wanted` names, while the probes run: each in a child of its own under the check's one deadline, so
that what hangs costs only itself. The answers come with the recording, under keys of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor.bundle.pack import LeftOut
from doctor.bundle.wanted import Ask, wanted
from doctor.engine.registry import Probe
from doctor.report.key import machine_key, own_names
from doctor.system import child

if TYPE_CHECKING:
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
SCOUT_S = 2.0
_NOT_THERE = ("absent", "ENOENT", "ENOTDIR", "empty")
"""What is no news of a file that a machine may have or not."""

Text = tuple[str, str, str]
"""Name in the bundle, origin, content."""
Entries = dict[str, dict[str, Any]]


class Scouted(NamedTuple):
    """What there is to ask, what is not there (origin and why), the machine's key, and the names in its files."""

    asks: list[Ask]
    missing: list[LeftOut]
    key: bytes
    names: list[tuple[str, str]]


def scout(system: System, *, since: str | None, include: Sequence[str], pid: int | None) -> Scouted:
    """Looks what there is, in a child: a machine that hangs at this costs its deadline, and nothing is asked beside
    the check then."""
    found: dict[str, Any] = {}

    def work(send: child.Send) -> None:
        send({"key": machine_key(system).hex()})
        send({"names": list(own_names(system))})
        asks = wanted(system, since=since, include=include, pid=pid) if system.kind != "capture" else []
        there = {word: system.which(word) for word in {ask.words[0] for ask in asks if ask.kind != "file"}}
        why = {word: reading.detail or reading.state.value for word, reading in there.items() if not reading.known}
        send({"asks": [ask for ask in asks if ask.kind == "file" or ask.words[0] not in why]})
        send(
            {"missing": [[ask.origin, why[ask.words[0]]] for ask in asks if ask.kind != "file" and ask.words[0] in why]}
        )

    outcome = child.run_side_by_side([child.Job("scout", work)], SCOUT_S, lambda _, message: found.update(message))[0]
    missing = [LeftOut(origin, why) for origin, why in found.get("missing", ())]
    if outcome.state != "finished":
        missing.append(LeftOut("everything beside the check", outcome.reason or outcome.state))
    asks = [Ask(name, kind, tuple(words), must) for name, kind, words, must in found.get("asks", ())]
    names = [(kind, name) for kind, name in found.get("names", ())]
    return Scouted(asks, missing, bytes.fromhex(found.get("key", "")) or os.urandom(32), names)


def errands(asks: Sequence[Ask]) -> list[Probe]:
    """Probes that tell no fact: one for each command, one for a few files."""
    files = [ask for ask in asks if ask.kind == "file"]
    several = [files[n : n + _TOGETHER] for n in range(0, len(files), _TOGETHER)]
    return [_errand(group) for group in (*([ask] for ask in asks if ask.kind != "file"), *several)]


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
    if (text.count("\ufffd") + (text.count("\0") if not path.startswith("proc/") else 0)) * 20 > len(text):
        return "", "no text"
    return text, "" if text.strip() else why


def _end_of(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else text[-TEXT_LIMIT:].partition("\n")[2]


def taken(entries: Entries, asks: Sequence[Ask]) -> tuple[list[Text], list[LeftOut]]:
    """Takes the answers out of a recording: texts, and what was asked in vain."""
    answers = {key[len(PREFIX) :]: entries.pop(key) for key in [k for k in entries if k.startswith(PREFIX)]}
    texts = [(name, row["source"], row["text"]) for name, row in sorted(answers.items()) if row["text"]]
    must = {ask.name for ask in asks if ask.must}
    out = [
        LeftOut(row["source"], row["why"])
        for name, row in sorted(answers.items())
        if row["why"] and (name in must or row["why"] not in _NOT_THERE)
    ]
    late = [a for a in asks if a.name not in answers and not any(n.startswith(f"{a.name}-") for n in answers)]
    return texts, out + [LeftOut(ask.origin, "no answer in time") for ask in late]
