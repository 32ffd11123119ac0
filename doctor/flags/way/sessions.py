"""Sessions elsewhere: ssh, pdsh, systemd-run, tmux. They start in an environment of their own."""

from __future__ import annotations

import fnmatch
import re

from doctor.flags.way.launchers import BASIC, Call, options, pass_on
from doctor.flags.way.model import Alt
from doctor.parsers.text.shell_lexer import HOLE

_SSH_TAKES = tuple(f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw")


def _ssh(call: Call) -> None:
    found = options(call.argv, _SSH_TAKES)
    if not found.rest:
        return
    host, command = found.rest[0], found.rest[1:]
    step = call.step("ssh starts a new session: it passes only TERM and the variables in SendEnv", "ssh")
    sent = {n for o in found.of("-o") if o.lower().startswith("sendenv") for n in re.split(r"[=\s]+", o)[1:]}
    sees = call.sees.cleared(step)
    for name in (n for n in call.sees.held if any(fnmatch.fnmatchcase(n, p) for p in sent)):
        accept = call.step(f"SendEnv {name}: the server has to accept it (AcceptEnv)")
        sees.held[name] = (*(a.after(accept) for a in call.sees.held[name]), Alt(None, "no", (accept,)))
    sees.may_be(step, *BASIC)
    where = f"host {host.replace(HOLE, '…')[:40]}"
    text = " ".join(command) if command else call.body
    if command and call.body is not None and command[0] in ("bash", "sh", "sudo"):
        call.go_on(command, sees, where, outside=True)
    elif text is not None:
        call._replace(body=None).go_on(["sh", "-c", text], sees, where, outside=True)


def _remote_shell(call: Call) -> None:
    """pdsh, clush: `-w HOSTS command`."""
    found = options(call.argv, ("-w", "-f", "-l", "-t", "-u", "-R", "-g", "-x", "-a"))
    step = call.step(f"{call.argv[0]} starts a new session on each host: it passes no variables", "ssh")
    if found.rest:
        call.go_on(["sh", "-c", " ".join(found.rest)], call.sees.cleared(step), "each host", outside=True)


def _opaque(call: Call) -> None:
    """Whether the environment of the caller, or that of a server, is used is not known."""
    name = call.argv[0]
    sees = call.sees.unknown(call.step(f"{name} may use the environment of its server process"))
    call.run.record(call.argv, sees, call.frame, call.line)


_SYSTEMD_RUN_TEXT = """
-E --setenv -p --property -u --unit -M -H --slice --uid --gid --description --working-directory --on-calendar
--on-active --nice
"""


def _systemd_run(call: Call) -> None:
    found = options(call.argv, _SYSTEMD_RUN_TEXT.split())
    sees = call.sees.copy()
    if not found.has("--scope"):
        step = call.step("systemd-run starts it in the environment of the service manager", "systemd-run")
        sees = call.sees.cleared(step)
        sees.may_be(step, *BASIC)
    for value in found.of("-E", "--setenv"):
        pass_on(sees, call.sees, value, call.step(f"systemd-run --setenv={value[:40]}"))
    call.go_on(found.rest, sees)


TABLE = {
    "ssh": _ssh, "pdsh": _remote_shell, "clush": _remote_shell, "systemd-run": _systemd_run,
    **dict.fromkeys(("tmux", "screen", "doas", "horovodrun", "jsrun", "aprun", "flux"), _opaque),
}  # fmt: skip
