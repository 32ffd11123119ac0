"""systemd units: which lines of Environment= count, and what the program of ExecStart= gets."""

from __future__ import annotations

import re

from doctor.flags.way.frame import Frame, Remark, Runs
from doctor.flags.way.launchers import BASIC
from doctor.flags.way.model import UNSET, Alt, Sees, Step
from doctor.flags.way.unit_lines import Key, assigned, keys_of, step_of
from doctor.parsers.lib.shell_words import words as split
from doctor.parsers.text.shell_lexer import HOLE

_HOLDS = ("Service", "Socket", "Mount", "Swap")
"""Sections of units that start processes."""
_LINE = re.compile(r"\s{0,20}(?:[;#].*|([A-Za-z_][A-Za-z0-9_]{0,127})\s{0,9}=(.*))?")
_COMMANDS = ("ExecStart", "ExecStartPre", "ExecStartPost")


def follow(run: Runs, source: str, text: str) -> None:
    keys = list(keys_of(source, text))
    base = source.rpartition("/")[2]
    for name in _drop_ins(run, base):
        if found := run.look(name):
            keys += keys_of(*found)
    if any(key.section == "Container" for key in keys):
        return  # a quadlet: podman makes the unit of it
    sees, frame = environment(run, keys), Frame(source, outside=True)
    commands: list[Key] = []
    for key in keys:
        if key.section in _HOLDS and key.key in _COMMANDS:
            commands = [c for c in commands if c.key != key.key] if not key.value else [*commands, key]
    for key in commands[:40]:
        argv = [_expanded(word.text, sees) for word in split(key.value.lstrip("-@:+!|"))]
        run.start(argv, sees, Frame(key.file, outside=True, where=frame.where), key.line)


def _drop_ins(run: Runs, base: str) -> list[str]:
    """Every *.conf of UNIT.d, in the order that systemd reads them."""
    held = run.look(f"{base}.d/")
    return [f"{base}.d/{name}" for name in sorted(held[1].split("\n")) if name.endswith(".conf")] if held else []


def _expanded(word: str, sees: Sees) -> str:
    def one(found: re.Match[str]) -> str:
        held = sees.of(found[1] or found[2])
        text = held[0].text if len(held) == 1 else HOLE
        return text or ""

    return re.sub(r"(?<!\$)\$(?:\{(\w{1,127})\}|(\w{1,127})$)", one, word).replace("$$", "$").replace("%%", "%")


def environment(run: Runs, keys: list[Key]) -> Sees:
    """Environment=, then the files, then UnsetEnvironment=, as systemd builds it (systemd.exec(5))."""
    sees = Sees(UNSET)
    for name in (*BASIC, "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "NOTIFY_SOCKET"):
        sees.held[name] = (Alt(HOLE, "yes"), Alt(None))
    own: dict[str, tuple[str, Step]] = {}
    files: list[Key] = []
    gone: list[Key] = []
    for key in keys:
        if key.key == "Environment" and key.section in _HOLDS:
            own = assigned(run, key, own)
        elif key.key in ("Environment", "EnvironmentFile", "PassEnvironment") and key.section not in _HOLDS:
            _misplaced(run, key)
        elif key.key == "EnvironmentFile":
            files = [*files, key] if key.value else []
        elif key.key == "PassEnvironment":
            for name in key.value.split():
                sees.held[name] = (Alt(HOLE, "yes", (step_of(key, "PassEnvironment="),)), Alt(None))
        elif key.key == "UnsetEnvironment":
            gone.append(key)
    for name, (text, step) in own.items():
        sees.put(name, text, step)
    for key in files:
        _file(run, key, sees)
    for key in gone:
        for name in key.value.split():
            sees.held[name.partition("=")[0]] = (Alt(None, "no", (step_of(key, "UnsetEnvironment=", "unset"),)),)
    return sees


def _misplaced(run: Runs, key: Key) -> None:
    name = key.value.strip("\"'").partition("=")[0] if key.key == "Environment" else key.key
    said = f"{key.key}={key.value[:80]} is in [{key.section}], where systemd ignores it"
    run.remark(Remark("unit-section", name, key.file, key.line, said, "Move it into [Service]."))


def _file(run: Runs, key: Key, sees: Sees) -> None:
    path = key.value.lstrip("-").strip("\"'")
    found = run.look(path) if "%" not in path else None
    if found is None:
        step = step_of(key, f"EnvironmentFile={path[:60]}: file not found or not read")
        sees.may_change(step)
        return
    file, text = found
    for number, line in enumerate(text.split("\n")[:4000], 1):
        made = _LINE.fullmatch(line.rstrip("\r"))
        if made is None and (wrong := re.fullmatch(r"\s{0,20}export\s{1,9}([A-Za-z_]\w{0,127})=.*", line)):
            said = f"`export {wrong[1]}=…` in an EnvironmentFile: systemd ignores this line (not a shell script)"
            run.remark(Remark("env-file-export", wrong[1], file, number, said, "Write NAME=value without export."))
        elif made and made[1]:
            sees.put(made[1], _unquoted(made[2]), Step(file, number, f"EnvironmentFile: {made[1]}"))


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = re.fullmatch(r"\"([^\"\\]*)\"|'([^']*)'", text)
    return (quoted[1] or quoted[2] or "") if quoted else HOLE if re.search(r"[\"'\\]", text) else text
