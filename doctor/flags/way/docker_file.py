"""Dockerfiles: what each RUN, and the container in the end, gets of ENV, ARG and exports."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from doctor.flags.way.frame import Frame, Remark, Runs
from doctor.flags.way.model import OUTER, Alt, Env, Held, Sees, Step
from doctor.parsers.container import dockerfile_instructions
from doctor.parsers.lib.shell_words import words as split
from doctor.parsers.text.shell_lexer import HOLE

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.DOTALL)


class _Stage(NamedTuple):
    env: Sees
    args: dict[str, Held]


def follow(run: Runs, source: str, text: str) -> None:
    stages: dict[str, _Stage] = {}
    outer: dict[str, Held] = {}
    stage = _Stage(Sees(OUTER), {})
    image, ends = "", dict[str, tuple[int, list[str]]]()
    idle: dict[str, int] = {}
    for each in dockerfile_instructions.read(text):
        if each.name in ("FROM", "RUN"):
            idle.clear()
        idle = {name: at for name, at in idle.items() if f"${name}" not in each.text and f"${{{name}" not in each.text}
        if each.name == "FROM":
            named = [w for w in each.text.split() if not w.startswith("--")]
            image = named[0] if named else ""
            before = stages.get(image.lower())
            own = _Stage(Sees(of_image(source, each.line)), {})
            stage, ends = _Stage(before.env.copy(), dict(before.args)) if before else own, {}
            stages[named[-1].lower() if len(named) == 3 else str(len(stages))] = stage
        elif each.name == "ARG":
            idle |= {w.partition("=")[0]: each.line for w in each.text.split() if image and "=" in w}
            _argument(
                each.text, stage.args if image else outer, outer, Step(source, each.line, f"ARG {each.text[:60]}")
            )
        elif each.name == "ENV":
            _set(each, source, stage)
        elif each.name == "RUN":
            _run(run, each, source, stage)
        elif each.name in ("CMD", "ENTRYPOINT"):
            if each.name == "ENTRYPOINT":
                ends.pop("CMD", None)
            ends[each.name] = (each.line, _argv(each.text))
    if image:
        _end(run, source, stage, ends, text.count("\n"))
    for name in idle.keys() - stage.env.held.keys():
        problem = f"ARG {name} applies to the build only, and nothing in it uses {name}: the container does not get it"
        run.remark(Remark("build-argument", name, source, idle[name], problem, f"Write ENV {name}=…."))


def _end(run: Runs, source: str, stage: _Stage, ends: dict[str, tuple[int, list[str]]], last: int) -> None:
    argv = [w for name in ("ENTRYPOINT", "CMD") if name in ends for w in ends[name][1]]
    line = next((ends[n][0] for n in ("ENTRYPOINT", "CMD") if n in ends), last)
    frame = Frame(source, outside=True, where="the container")
    if argv:
        run.start(argv, stage.env, frame, line)
    else:
        run.record(["(the container)"], stage.env, frame, line)


def of_image(source: str, line: int) -> Held:
    """What the base image sets is not in the file."""
    return (Alt(None, "no", (Step(source, line, "the image may set it"),), "image"),)


def _argument(text: str, into: dict[str, Held], outer: dict[str, Held], step: Step) -> None:
    for word in split(text):
        name, sign, value = word.text.partition("=")
        if sign:
            into[name] = (Alt(value if "$" not in value else HOLE, "yes", (step,)), Alt(HOLE, "yes", (step,)))
        elif name:
            into[name] = outer.get(name, (Alt(HOLE, "yes", (step,)), Alt(None)))


def _set(each: dockerfile_instructions.Instruction, source: str, stage: _Stage) -> None:
    step = Step(source, each.line, f"ENV {each.text[:60]}")
    found = [word.text for word in split(each.text)]
    if found and not _PAIR.fullmatch(found[0]):
        found = [f"{found[0]}={each.text[len(found[0]) :].strip()}"]
    before = stage.env.copy()
    for word in found:
        if made := _PAIR.fullmatch(word):
            stage.env.held[made[1]] = tuple(
                a._replace(exported="yes", steps=(step,)) for a in _filled(made[2], before, stage)
            )


def _filled(text: str, env: Sees, stage: _Stage) -> Held:
    """Text of ENV with what the stage and build arguments put into it."""
    if "$" not in text:
        return (Alt(text),)
    whole = re.fullmatch(r"\$\{?(\w{1,127})\}?", text)
    if whole:
        held = env.held.get(whole[1]) or stage.args.get(whole[1])
        return held or (Alt(HOLE),)
    known = True

    def one(found: re.Match[str]) -> str:
        nonlocal known
        held = env.held.get(found[1] or found[2], ())
        if len(held) == 1 and held[0].text is not None:
            return held[0].text
        known = False
        return HOLE

    made = re.sub(r"(?<!\\)\$(?:\{(\w{1,127})\}|(\w{1,127}))", one, text)
    return (Alt(made if known and "${" not in made else HOLE),)


def _run(run: Runs, each: dockerfile_instructions.Instruction, source: str, stage: _Stage) -> None:
    text = re.sub(r"^(?:--\S{1,400}\s+)+", "", each.text)
    sees = stage.env.copy()
    for name, held in stage.args.items():
        if name not in sees.held:
            sees.held[name] = held
    frame = Frame(source, outside=True, where="the build")
    argv = _exec_form(text)
    if argv is not None:
        run.start(argv, sees, frame, each.line)
        return
    here = re.match(r"<<-?\s?[\"']?(\w{1,40})[\"']?[^\n]*\n", text)
    text = text[here.end() :] if here else text
    env = run.text(text, sees, frame, each.line)
    if env is not None:
        _lost(run, env, sees, source, each.line, text)


def _lost(run: Runs, env: Env, sees: Sees, source: str, line: int, text: str) -> None:
    """`RUN export A=1` and nothing behind it: what it sets is gone with the RUN."""
    from doctor.parsers.text.shell_nodes import simple_commands
    from doctor.parsers.text.shell_tree import read

    commands = list(simple_commands(read(text).commands))
    last = commands[-1] if commands else None
    if last is None or not last.words or last.words[0].plain != "export":
        return
    for word in last.words[1:]:
        name = (word.plain or "").partition("=")[0]
        if re.fullmatch(r"[A-Za-z_]\w{0,127}", name) and {a.text for a in env.get(name)} != {
            a.text for a in sees.of(name)
        }:
            said = f"RUN export {name}=… applies only to that RUN: later lines and the container do not see it"
            run.remark(Remark("run-export", name, source, line, said, f"Write ENV {name}=…."))


def _exec_form(text: str) -> list[str] | None:
    try:
        found = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        return None
    return [str(w) for w in found] if isinstance(found, list) and found else None


def _argv(text: str) -> list[str]:
    return _exec_form(text) or ["sh", "-c", text]
