"""How a command of a fix is undone, in words with the command; from its own words and what the machine was before."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from doctor.facts import Snapshot

_NONE = "none: what it did can't be undone, only done again"


def way_back(argv: tuple[str, ...], machine: Snapshot) -> str:
    """One line. Commands that change nothing, or that no command undoes, say so.

    >>> way_back(("modprobe", "nvidia_uvm"), Snapshot())
    'modprobe -r nvidia_uvm'
    """
    program, rest = argv[0], argv[1:]
    if program in _WAYS:
        return _WAYS[program](rest, machine)
    if program in ("apt-get", "dnf", "zypper", "pacman", "snap"):
        return _package(program, rest, machine)
    if "pip" in argv[:4] or program == "uv":
        return "install the former versions again; `pip freeze` before this step keeps them"
    return "not known: note the setting before you change it"


def _package(program: str, rest: tuple[str, ...], machine: Snapshot) -> str:
    names = [word for word in rest[1:] if not word.startswith("-")]
    if program == "dnf":
        return "dnf history undo last"
    if program == "snap":
        return f"snap install {shlex.join(names)}"
    if program == "pacman":
        return "pacman -U with the former package of /var/cache/pacman/pkg"
    former = {c.package: c.old for c in machine.changes or () if c.old}
    pinned = [f"{name}={former[name]}" for name in names if name in former]
    remove = {"apt-get": "apt-get remove --yes", "zypper": "zypper --non-interactive remove"}[program]
    again = f", or {program} install {shlex.join(pinned)}" if pinned else ""
    log = "/var/log/dpkg.log" if program == "apt-get" else "/var/log/zypp/history"
    return f"{remove} {shlex.join(names)}{again} (the former version stands in {log})"


def _systemctl(rest: tuple[str, ...], _machine: Snapshot) -> str:
    if rest[:2] == ("enable", "--now"):
        return f"systemctl disable --now {shlex.join(rest[2:])}"
    if rest[:1] == ("start",):
        return f"systemctl stop {shlex.join(rest[1:])}"
    return "not needed: the service starts anew with the same settings" if rest[:1] == ("restart",) else _NONE


def _modprobe(rest: tuple[str, ...], _machine: Snapshot) -> str:
    module = next((word for word in rest if not word.startswith("-")), "")
    removes = any(word in ("-r", "--remove") for word in rest)
    return f"modprobe {module}" if removes else f"modprobe -r {module}"


def _sysctl(rest: tuple[str, ...], machine: Snapshot) -> str:
    name = next((word.partition("=")[0] for word in rest if "=" in word), "")
    former = {"kernel.numa_balancing": machine.host.numa_balancing}.get(name)
    return f"sysctl -w {name}={former if former is not None else 'FORMER_VALUE'}"


def _nvidia_smi(rest: tuple[str, ...], machine: Snapshot) -> str:
    if "--gpu-reset" in rest:
        return _NONE
    switch = next((word for word in rest if word in ("-pm", "-mig", "-c", "-pl", "-lgc")), None)
    modes = {g.compute_mode for g in machine.of_vendor("nvidia") if g.compute_mode}
    if switch == "-c" and len(modes) == 1:
        return f"nvidia-smi -c {modes.pop().split()[0].upper()}"
    if switch in ("-pm", "-mig"):
        value = rest[rest.index(switch) + 1 : rest.index(switch) + 2]
        return f"nvidia-smi {switch} {'0' if value == ('1',) else '1'}"
    return "note what `nvidia-smi -q` shows before this step"


def _usermod(rest: tuple[str, ...], _machine: Snapshot) -> str:
    words = [word for word in rest if not word.startswith("-")]
    return "; ".join(f"gpasswd -d {words[1]} {group}" for group in words[0].split(",")) if len(words) == 2 else _NONE


def _ctk(rest: tuple[str, ...], _machine: Snapshot) -> str:
    if rest[:2] == ("cdi", "generate"):
        output = next((w.partition("=")[2] for w in rest if w.startswith("--output=")), "")
        return f"rm {shlex.quote(output)}, or put the former file back" if output else _NONE
    if rest[:1] == ("runtime",):
        return "put the engine's former configuration back (/etc/docker/daemon.json) and restart the engine"
    return "put /etc/nvidia-container-runtime/config.toml back as it was"


_WAYS: dict[str, Callable[[tuple[str, ...], Snapshot], str]] = {
    "systemctl": _systemctl,
    "modprobe": _modprobe,
    "sysctl": _sysctl,
    "nvidia-smi": _nvidia_smi,
    "usermod": _usermod,
    "nvidia-ctk": _ctk,
    "amd-smi": lambda _rest, _machine: _NONE,
    "dkms": lambda _rest, _machine: "dkms remove of the module for this kernel",
    "groupadd": lambda rest, _machine: f"groupdel {shlex.quote(rest[-1])}",
    "setsebool": lambda rest, _machine: f"setsebool -P {rest[-1].partition('=')[0]}=false",
    "udevadm": lambda _rest, _machine: "none needed: the rules are read again and nothing is changed",
    "ras-mc-ctl": lambda _rest, _machine: "none needed: it only shows",
    "dcgmi": lambda _rest, _machine: "none needed: it measures",
    "nvidia-bug-report.sh": lambda _rest, _machine: "none needed: it writes nvidia-bug-report.log.gz here",
    "nvidia-modprobe": lambda _rest, _machine: "modprobe -r nvidia_uvm",
}
