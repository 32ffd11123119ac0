"""What a command of a remedy changes: how it is undone, and which facts hold afterwards.

Read from the command's own words and from what the machine was before, so that every rule that names the same command
says the same about it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from doctor.facts import Snapshot
from doctor.findings import Expect, Step
from doctor.redaction.lazy import Lazy

Words = tuple[str, ...]
LOOKS = frozenset(
    (
        *("journalctl", "lspci", "modinfo", "lsmod", "stat", "id", "ls", "dmesg", "ibstat", "rpm", "sinfo", "doctor"),
        *("nvidia-bug-report.sh", "ras-mc-ctl", "dcgmi", "rocminfo", "df", "dpkg-query", "fuser", "squeue", "scontrol"),
        *("grep",),
    )
)
"""Commands that show or measure and change nothing."""
STARTERS = frozenset(("env", "docker", "podman", "sbatch", "srun", "apptainer", "compute-sanitizer"))
"""Commands that start a program of yours another way: nothing lasts but what that program does."""
_PYTHON = Lazy(r"(?:^|/)python3?(?:\.\d{1,2})?$")
_MADE_OF_FILES = ("dracut", "update-initramfs", "mkinitcpio", "update-grub", "grub-mkconfig", "ldconfig")
_GONE = "This cannot be undone."


def undo_of(argv: Words, machine: Snapshot) -> Step | None:
    """None where the command changes nothing that lasts.

    >>> undo_of(("modprobe", "nvidia_uvm"), Snapshot()).command
    ('modprobe', '-r', 'nvidia_uvm')
    """
    program, rest = argv[0], argv[1:]
    if not changes(argv) or starts_again(argv):
        return None
    if "venv" in rest:
        return Step(text=f"Delete the environment {shlex.quote(rest[-1])}.")
    if "pip" in argv[:4] or program == "uv":
        return Step(text="Install the old versions again; `pip freeze` before this step lists them.")
    found = _UNDO[program](rest, machine) if program in _UNDO else "Note the old setting before you change it."
    if isinstance(found, str):
        return Step(text=found)
    return Step(text="Undo it.", command=found)


def starts_again(argv: Words) -> bool:
    """Whether all that the command does is to start something again as it was."""
    program, what = argv[0], argv[1:2]
    if program == "systemctl":
        return what in (("restart",), ("reload",), ("reboot",))
    if program == "nvidia-smi":
        return "--gpu-reset" in argv
    if program == "amd-smi":
        return what == ("reset",)
    return argv == ("wsl.exe", "--shutdown") or (program in ("docker", "podman") and what == ("restart",))


def changes(argv: Words) -> bool:
    """Whether the command changes something that lasts."""
    program, rest = argv[0], argv[1:]
    if "pip" in argv[:4] or program == "uv":
        return any(word in argv for word in ("install", "uninstall", "sync", "venv"))
    if _PYTHON.search(program):
        return "venv" in rest
    if program in ("docker", "podman"):
        return rest[:1] == ("restart",)
    if program == "kubectl":
        return rest[:1] not in (("describe",), ("get",), ("logs",))
    if program in ("apt-get", "zypper"):
        return rest[-1:] not in (("update",), ("refresh",))
    if program == "dkms":
        return rest[:1] != ("status",)
    if program == "ldconfig":
        return not rest
    if program == "nvidia-smi":
        return any(w in rest for w in ("-pm", "-mig", "-c", "-pl", "-lgc", "--gpu-reset", "-cgi"))
    if program == "amd-smi":
        return rest[:1] in (("reset",), ("set",))
    if program == "udevadm" or (program == "systemctl" and rest[:1] in (("status",), ("daemon-reload",), ("show",))):
        return False
    return program not in LOOKS | STARTERS


def effect_of(argv: Words) -> tuple[Expect, ...]:
    """Facts that hold once the command has run; () where no fact shows it."""
    program, rest = argv[0], argv[1:]
    words = [word for word in rest if not word.startswith("-")]
    if program == "modprobe" and not any(word in ("-r", "--remove") for word in rest) and len(words) == 1:
        return (Expect(fact="kernel.modules", has=words[0].replace("-", "_")),)
    if program == "env":
        return tuple(_of_env(rest))
    if program == "sysctl" and words == ["kernel.numa_balancing=0"]:
        return (Expect(fact="host.numa_balancing", equals=0),)
    if argv == ("systemctl", "reboot"):
        return (Expect(fact="host.tried", has="reboot"),)
    if argv == ("systemctl", "enable", "--now", "nvidia-fabricmanager"):
        return (Expect(fact="nvidia_driver.fabric_manager.running", equals=True),)
    if argv == ("systemctl", "enable", "--now", "nvidia-imex"):
        return (Expect(fact="nvidia_driver.imex.running", equals=True),)
    if program == "cpupower" and "--governor" in rest:
        return (Expect(fact="host.cpu_governor", equals=rest[-1]),)
    if program == "nvidia-ctk" and rest[:2] == ("config", "--in-place"):
        value = rest[-1].partition("=")[2]
        return (Expect(fact="container.no_cgroups", equals=value == "true"),) if "no-cgroups=" in rest[-1] else ()
    return ()


def _of_env(rest: Words) -> list[Expect]:
    """`env -u A B=1 COMMAND`: A is gone and B is 1. Without COMMAND or a program it is the same."""
    found, words = [], list(rest)
    while words:
        word = words.pop(0)
        if word == "-u" and words:
            name = words.pop(0)
            if not name.endswith("VARIABLE"):  # a placeholder for the one that a message names
                found.append(Expect(fact=f"environment[{name}]", absent=True))
        elif word.startswith("--unset="):
            found.append(Expect(fact=f"environment[{word.partition('=')[2]}]", absent=True))
        elif "=" in word:
            name, _, value = word.partition("=")
            found.append(Expect(fact=f"environment[{name}]", equals=value))
        else:
            break
    return found


def _systemctl(rest: Words, _machine: Snapshot) -> Words | str:
    if rest[:2] == ("enable", "--now"):
        return ("systemctl", "disable", "--now", *rest[2:])
    if rest[:1] == ("enable",):
        return ("systemctl", "disable", *rest[1:])
    if rest[:1] == ("start",):
        return ("systemctl", "stop", *rest[1:])
    if rest[:1] == ("edit",):
        return ("systemctl", "revert", *rest[1:])
    return "Note the old state of the service before you change it."


def _modprobe(rest: Words, _machine: Snapshot) -> Words | str:
    module = next((word for word in rest if not word.startswith("-")), "")
    removes = any(word in ("-r", "--remove") for word in rest)
    return ("modprobe", module) if removes else ("modprobe", "-r", module)


def _sysctl(rest: Words, machine: Snapshot) -> Words | str:
    name = next((word.partition("=")[0] for word in rest if "=" in word), "")
    former = {"kernel.numa_balancing": machine.host.numa_balancing}.get(name)
    if former is None:
        return f"Set the old value again; `sysctl {name}` shows it before this step."
    return ("sysctl", "-w", f"{name}={former}")


def _nvidia_smi(rest: Words, machine: Snapshot) -> Words | str:
    switch = next((word for word in rest if word in ("-pm", "-mig", "-c", "-pl", "-lgc")), "")
    modes = {g.compute_mode for g in machine.of_vendor("nvidia") if g.compute_mode}
    before = rest[: rest.index(switch)] if switch else ()
    if switch == "-c" and len(modes) == 1:
        return ("nvidia-smi", *before, "-c", modes.pop().split()[0].upper())
    if switch in ("-pm", "-mig"):
        value = rest[rest.index(switch) + 1 : rest.index(switch) + 2]
        return ("nvidia-smi", *before, switch, "0" if value == ("1",) else "1")
    return "Set the old value again; `nvidia-smi -q` shows it before this step."


def _packages(program: str) -> Callable[[Words, Snapshot], Words | str]:
    def undo(rest: Words, machine: Snapshot) -> Words | str:
        names = [word for word in rest[1:] if not word.startswith("-")]
        if rest[:1] and rest[0] in ("remove", "purge", "autoremove"):
            return (program, "install", *names)
        former = {c.package: c.old for c in machine.changes or () if c.old}
        pinned = [f"{name}={former[name]}" for name in names if name in former]
        if program == "apt-get":
            if pinned:
                return ("apt-get", "install", "--yes", "--allow-downgrades", *pinned)
            return ("apt-get", "remove", "--yes", *names)
        if program == "zypper":
            if "addlock" in rest:
                return ("zypper", "removelock", *rest[rest.index("addlock") + 1 :])
            if "addrepo" in rest:
                return ("zypper", "removerepo", rest[-1].rpartition("/")[2].removesuffix(".repo"))
            return ("zypper", "--non-interactive", "remove", *[name for name in names if name != "install"])
        return "Install the old package again: `pacman -U` with its file in /var/cache/pacman/pkg."

    return undo


def _dnf(rest: Words, _machine: Snapshot) -> Words | str:
    if rest[:1] == ("versionlock",):
        return ("dnf", "versionlock", "delete", rest[-1])
    if rest[:2] == ("module", "enable"):
        return ("dnf", "module", "reset", "--assumeyes", rest[-1].partition(":")[0])
    if rest[:2] == ("module", "reset"):
        return "Enable the old stream again; `dnf module list --enabled` shows it before this step."
    if rest[:1] == ("upgrade",):
        return "Undo the transaction: `dnf history list` shows its number for `dnf history undo`."
    if rest[:1] == ("config-manager",):
        name = rest[-1].rpartition("/")[2]
        return ("rm", f"/etc/yum.repos.d/{name}")
    names = [word.rpartition("/")[2].partition("-latest-")[0] for word in rest[1:] if not word.startswith("-")]
    return ("dnf", "remove", "--assumeyes", *names)


def _usermod(rest: Words, _machine: Snapshot) -> Words | str:
    words = [word for word in rest if not word.startswith("-")]
    if len(words) != 2:
        return "Take the account out of the group again with `gpasswd -d`."
    first, _, more = words[0].partition(",")
    if more:
        return f"Take the account out of the groups {shlex.quote(words[0])} again with `gpasswd -d`."
    return ("gpasswd", "-d", words[1], first)


def _ctk(rest: Words, _machine: Snapshot) -> Words | str:
    if rest[:2] == ("cdi", "generate"):
        output = next((w.partition("=")[2] for w in rest if w.startswith("--output=")), "")
        return f"Generate it again with the old driver, or `rm {output}`." if output else _GONE
    if rest[:1] == ("runtime",):
        return "Restore the engine's old configuration (Docker: /etc/docker/daemon.json) and restart the engine."
    if rest[:2] == ("config", "--in-place") and rest[-1].endswith(("=true", "=false")):
        name, _, value = rest[-1].rpartition("=")
        opposite = "true" if value == "false" else "false"
        return ("nvidia-ctk", "config", "--in-place", "--set", f"{name}={opposite}")
    return "Remove the links in /dev/char that point to nvidia nodes." if "create-dev-char-symlinks" in rest else _GONE


def _grubby(rest: Words, _machine: Snapshot) -> Words | str:
    swapped = tuple(w.replace("--args=", "--remove-args=", 1) if w.startswith("--args=") else w for w in rest)
    return ("grubby", *swapped)


_UNDO: dict[str, Callable[[Words, Snapshot], Words | str]] = {
    "systemctl": _systemctl,
    "modprobe": _modprobe,
    **dict.fromkeys(_MADE_OF_FILES, lambda _rest, _m: "Run it again after the old files are back."),
    "sysctl": _sysctl,
    "nvidia-smi": _nvidia_smi,
    "usermod": _usermod,
    "nvidia-ctk": _ctk,
    "amd-ctk": _ctk,
    "apt-get": _packages("apt-get"),
    "zypper": _packages("zypper"),
    "pacman": _packages("pacman"),
    "dnf": _dnf,
    "mokutil": lambda rest, _m: ("mokutil", "--delete", rest[-1]) if rest[:1] == ("--import",) else _GONE,
    "grubby": _grubby,
    "sh": lambda rest, _m: ("rm", rest[-1].rpartition(" > ")[2]),
    "snap": lambda rest, _m: ("snap", "install", *rest[1:]),
    "amd-smi": lambda _rest, _m: _GONE,
    "rm": lambda rest, _m: f"Keep a copy of {shlex.join(rest)} first; it cannot be brought back.",
    "dkms": lambda rest, _m: ("dkms", "remove", *rest[1:]) if "-m" in rest else "Remove the module with `dkms remove`.",
    "dpkg": lambda rest, _m: ("dpkg", "--purge", rest[-1].rpartition("/")[2].partition("_")[0]),
    "curl": lambda rest, _m: ("rm", rest[rest.index("--output") + 1]) if "--output" in rest else _GONE,
    "SUSEConnect": lambda rest, _m: ("SUSEConnect", "-d", *rest),
    "groupadd": lambda rest, _m: ("groupdel", rest[-1]),
    "setsebool": lambda rest, _m: ("setsebool", "-P", f"{rest[-1].partition('=')[0]}=false"),
    "cpupower": lambda _rest, _m: "Set the old governor again; `cpupower frequency-info` shows it before this step.",
    "kubectl": lambda _rest, _m: "Apply the old manifest again.",
    "nvidia-modprobe": lambda _rest, _m: ("modprobe", "-r", "nvidia_uvm"),
}
