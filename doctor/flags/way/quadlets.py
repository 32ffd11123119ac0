"""Quadlets (podman-systemd.unit(5)): what the container of a .container file gets.

`Environment=` in [Container] is podman's `--env`; in [Service] it is for podman itself.
"""

from __future__ import annotations

from doctor.flags.names import described
from doctor.flags.way.docker_file import of_image
from doctor.flags.way.frame import Frame, Remark, Runs
from doctor.flags.way.launchers import ASSIGNMENT
from doctor.flags.way.model import Sees, Step
from doctor.flags.way.unit_lines import Key, assignments
from doctor.parsers.lib.shell_words import words as split
from doctor.parsers.text.shell_lexer import HOLE


def follow(run: Runs, source: str, keys: list[Key]) -> None:
    own = [key for key in keys if key.section == "Container"]
    line = own[0].line if own else 1
    sees = Sees(of_image(source, line))
    for key in own:
        if key.key == "EnvironmentFile" and key.value:
            sees.may_change(Step(key.file, key.line, f"EnvironmentFile={key.value[:60]}: file not found or not read"))
    for name, (text, step) in assignments(run, own).items():
        sees.put(name, text, step)
    args = next((key for key in own if key.key == "PodmanArgs"), None)
    if args:
        sees = sees.unknown(Step(args.file, args.line, "PodmanArgs= may pass variables too"))
    host = any(key.key in ("EnvironmentHost", "PodmanArgs", "GlobalArgs", "ContainersConfModule") for key in own)
    for key in keys:
        if key.key == "Environment" and key.section == "Service" and not host:
            _for_podman(run, key, sees)
    argv = [word.text for key in own if key.key == "Exec" for command in split(key.value) for word in command]
    frame = Frame(source, outside=True, where="in the container")
    if argv:
        run.start(argv, sees, frame, line)
    else:
        run.record(["(the image's command)"], sees, frame, line)


def _for_podman(run: Runs, key: Key, sees: Sees) -> None:
    for word in (w.text for command in split(key.value) for w in command):
        made = ASSIGNMENT.fullmatch(word)
        if made and made[1] not in sees.held and described(made[1]) and HOLE not in word:
            said = f"Environment={word[:80]} is in [Service]: podman gets it, the container does not"
            cure = "Move the line into [Container]."
            run.remark(Remark("quadlet-section", made[1], key.file, key.line, said, cure))
