"""Crontabs: what each job gets (crontab(5)).

A job starts with what the table sets above it and little more; `$NAME` in a value is not expanded.
"""

from __future__ import annotations

import re

from doctor.flags.way.frame import Frame, Runs
from doctor.flags.way.launchers import BASIC
from doctor.flags.way.model import UNSET, Alt, Sees, Step
from doctor.parsers.text.shell_lexer import HOLE

_SETS = re.compile(r"\s{0,20}([A-Za-z_][A-Za-z0-9_]{0,127}|\"[^\"]{1,80}\"|'[^']{1,80}')\s{0,9}=\s{0,9}(.*)")
_JOB = re.compile(r"\s{0,20}(?:@[a-z]{3,10}|(?:[\d*,/A-Za-z-]{1,60}\s{1,9}){4}[\d*,/A-Za-z-]{1,60})\s{1,9}(.*)")
_PERCENT = re.compile(r"(?<!\\)%")
_MOST = 400


def follow(run: Runs, source: str, text: str) -> None:
    sees = Sees(UNSET)
    for name in BASIC:
        sees.held[name] = (Alt(HOLE, "yes"), Alt(None))
    with_user = "cron.d/" in source or (source.rpartition("/")[2] == "crontab" and "/etc/" in f"/{source}")
    for number, line in enumerate(text.split("\n")[:_MOST], 1):
        if line.lstrip().startswith("#"):
            continue
        if made := _SETS.fullmatch(line.rstrip("\r")):
            name, value = made[1].strip("\"'"), made[2].strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            step = Step(source, number, f"{name}={value[:60]}")
            sees.put(name, value[1:-1] if quoted else value, step)
        elif made := _JOB.fullmatch(line.rstrip("\r")):
            command = _PERCENT.split(made[1], maxsplit=1)[0].replace("\\%", "%")
            if with_user:
                command = command.partition(" ")[2].strip()
            run.text(command, sees.copy(), Frame(source, where="cron", outside=True), number)
