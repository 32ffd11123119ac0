"""What a file starts: every process with its environment, as far as the file says it.

>>> found = follow("a.sh", "export A=1\\npython x.py\\n", "shell")
>>> [(p.label, [a.text for a in p.sees.of("A")]) for p in found.processes]
[('python x.py', ['1'])]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from doctor.flags.way import clusters, cron, docker_file, handlers, in_python, manifests, units, words
from doctor.flags.way.frame import LOCAL, Beside, Followed, Frame, Remark
from doctor.flags.way.launchers import Call
from doctor.flags.way.model import MOST_PROCESSES, OUTER, Env, Held, Process, Sees, Step, joined
from doctor.flags.way.shell import Walk
from doctor.parsers.text.shell_lexer import HOLE
from doctor.redaction.secrets import masked

LONGEST = 2 << 20
_MOST_NOTES = 20
_HELPERS_TEXT = """
awk basename cat chmod chown clear column comm cp cut date dd df diff dirname du egrep expand expr fgrep file find
free getconf git grep groups gunzip gzip head hostname id install ip jq killall less ln ls lscpu lsmod lspci md5sum
mkdir mkfifo mktemp mv nproc paste patch pgrep pkill ps readlink realpath rename rev rm rmdir rsync scancel scp
scontrol sed seq sha256sum sinfo sleep sort split squeue stat stty sync tail tar tee touch tr tree tty uname uniq
unzip uptime vim wc wget which whoami xz yes zip curl apt apt-get yum dnf pip pip3 make cmake ninja ldconfig usermod
useradd groupadd update-alternatives add-apt-repository dpkg gpg wandb huggingface-cli hf
"""
_HELPERS = frozenset(_HELPERS_TEXT.split())
"""Programs that no variable of the stack concerns."""
_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))


class Run:
    def __init__(self, beside: Beside) -> None:
        self.look = beside
        self.found = Followed()
        self._at: dict[tuple[object, ...], int] = {}
        self.walk = Walk(self)
        self.nodes = 1
        """Machines of the batch job, by its directives."""
        self.cluster: Sees | None = None
        """What `ray start` was started with."""
        self.containers: dict[str, Sees] = {}
        """What each container was started with, by the name that the file gives it."""
        self.scheduled = False
        """The file names a scheduler (Slurm, PBS, LSF)."""

    def note(self, text: str) -> None:
        if len(self.found.notes) < _MOST_NOTES and text not in self.found.notes:
            self.found.notes.append(text)

    def remark(self, remark: Remark) -> None:
        if remark not in self.found.remarks and len(self.found.remarks) < 200:
            self.found.remarks.append(remark)

    def file(self, named: str, frame: Frame, of: Callable[[str], Held]) -> tuple[str, str] | None:
        """The path and text of a file: one that the script wrote, or one that lies beside."""
        path = words.beside(named)
        if not path or frame.outside:
            return None
        written = of(words.WRITTEN + path)
        if not any(step.id == words.WRITTEN for alt in written for step in alt.steps):
            return self.look(path)
        text = written[0].text if len(written) == 1 else None
        return (path, text) if text and text != HOLE else None

    def is_helper(self, argv: list[str]) -> bool:
        return argv[0].rpartition("/")[2] in _HELPERS or len(self.found.processes) >= MOST_PROCESSES

    def start(self, argv: list[str], sees: Sees, frame: Frame, line: int, body: str | None = None) -> None:
        """Starts a program, or the launcher that starts it."""
        if not argv or self.is_helper(argv) or len(frame.calls) > 40:
            return
        frame = replace(frame, calls=(*frame.calls, ""), returned=[], base=None)
        program = argv[0].rpartition("/")[2]
        if HOLE in program or not program:
            step = Step(frame.file, line, f"{shown(argv[0])} is a computed launcher", "unknown-launcher")
            self.record(argv, sees.unknown(step), frame, line)
        elif program in _SHELLS:
            self._shell(argv, sees, frame, line, body)
        elif handler := handlers.handler(argv):
            handler(Call(self, argv, sees, frame, line, body))
        elif "/" in argv[0] and (found := self.file(argv[0], frame, sees.of)):
            self.script(found, argv[1:], sees, frame)
        else:
            self.record(argv, sees, frame, line)

    def _shell(self, argv: list[str], sees: Sees, frame: Frame, line: int, body: str | None) -> None:
        options = 1
        text: str | None = None
        stdin = False
        while options < len(argv) and argv[options].startswith(("-", "+")):
            option = argv[options]
            options += 1
            if option in ("-o", "-O", "+o", "+O", "--rcfile", "--init-file"):
                options += 1
            elif re.fullmatch(r"-[a-z]*l[a-z]*|--login", option):
                step = Step(frame.file, line, f"{argv[0]} {option} reads the profile of the user")
                sees = Sees(joined(sees.base, sees.unknown(step).base), sees.unknown(step).held)
            stdin |= option == "-s"
            if re.fullmatch(r"-[a-z]*c[a-z]*", option) and options < len(argv):
                text = argv[options]
                options += 1
                break
        rest = argv[options:]
        inner = replace(frame, functions={}, locals=None)
        if text is not None:
            self.text(text, sees, replace(inner, args=rest[1:]), line)
        elif rest and not stdin and (found := self.file(rest[0], frame, sees.of)):
            self.script(found, rest[1:], sees, inner)
        elif rest and not stdin and rest[0] not in ("-", "/dev/stdin"):
            self.record(argv, sees, frame, line)
        elif body is not None:
            self.text(body, sees, replace(inner, args=rest), line + 1)

    def text(self, text: str, sees: Sees, frame: Frame, line: int) -> Env | None:
        """A shell runs the text; what it then has, None where the text is not known."""
        if text.strip() == HOLE:
            step = Step(frame.file, line, "the shell runs computed text", "unknown-launcher")
            self.record([HOLE], sees.unknown(step), frame, line)
            return None
        return self._walked(text, sees, frame, line)

    def _walked(self, text: str, sees: Sees, frame: Frame, line: int = 1) -> Env:
        """A shell of its own, up to what its `trap … EXIT` runs."""
        env = Env(sees)
        known = frame.args is not None and words.MANY not in frame.args
        env.put(words.ARGS, words.listed(frame.args or ()) if known else OUTER)
        self.walk.script(text, env, frame, line)
        trap = env.get(words.TRAP)
        if len(trap) == 1 and trap[0].text:
            last = env.fork()
            last.dead = False
            self.walk.script(trap[0].text, last, frame, trap[0].steps[0].line)
        return env

    def script(self, found: tuple[str, str], args: list[str], sees: Sees, frame: Frame) -> None:
        file, text = found
        if file in frame.calls:
            self.note(f"{file}: starts itself; followed once")
        elif re.match(r"#!.{0,60}python", text) or file.endswith(".py"):
            self.record([file, *args], sees, replace(frame, file=file), 1)
        else:
            inner = Frame(file, args, frame.where, {}, (*frame.calls, file), None, frame.outside, frame.nodes)
            self._walked(text, sees, inner)

    def record(self, argv: list[str], sees: Sees, frame: Frame, line: int, where: str | None = None) -> None:
        label = masked(" ".join(shown(a)[:400] for a in argv[:40]))[:120]
        if frame.nodes > 1 and "torchrun" not in frame.where:
            self._address(sees, frame, line, label)
        where = frame.where if where is None else where
        calls = tuple(c for c in frame.calls if c)
        key = (frame.file, line, label, where, calls)
        if key in self._at:
            before = self.found.processes[self._at[key]]
            self.found.processes[self._at[key]] = before._replace(sees=before.sees.or_(sees))
        elif len(self.found.processes) < MOST_PROCESSES:
            self._at[key] = len(self.found.processes)
            self.found.processes.append(Process(frame.file, line, label, where, sees))
            if len(self.found.processes) == MOST_PROCESSES:
                self.note(
                    f"{frame.file}:{line}: more than {MOST_PROCESSES} programs are started; the rest is not shown"
                )

    def _address(self, sees: Sees, frame: Frame, line: int, label: str) -> None:
        held = sees.of("MASTER_ADDR")
        if len(held) == 1 and held[0].text in LOCAL and re.match(r"(?:\S*/)?python|\S+\.py", label):
            said = f"MASTER_ADDR={held[0].text} on {frame.nodes} nodes: every other node waits for itself"
            cure = 'Set it to the first node: MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1).'
            place = held[0].steps[0] if held[0].steps else Step(frame.file, line, "")
            self.remark(Remark("master-localhost", "MASTER_ADDR", place.file, place.line, said, cure, "error"))


def shown(text: str) -> str:
    return text.replace(words.HERE, ".").replace(HOLE, "…").replace("\n", " ")


def follow(source: str, text: str, kind: str, beside: Beside = lambda _path: None) -> Followed:
    """Every process that the file starts. Raises ParserError for a text that is not of its kind."""
    run = Run(beside)
    text = text[:LONGEST].replace(HOLE, "").replace(words.HERE, "").replace("\0", "")
    if kind == "shell":
        shell_file(run, source, text)
    elif kind == "unit":
        units.follow(run, source, text)
    elif kind == "cron":
        cron.follow(run, source, text)
    elif kind == "dockerfile":
        docker_file.follow(run, source, text)
    elif kind == "yaml":
        manifests.yaml_file(run, source, text)
    elif kind == "python":
        run.record(["python", source], Sees(OUTER), Frame(source), 1)
        in_python.follow(Call(run, ["python", source], Sees(OUTER), Frame(source), 1), Sees(OUTER), source, text)
    return run.found


def started(argv: list[str], sees: Sees, line: int) -> Followed:
    """What one command starts."""
    run = Run(lambda _path: None)
    run.start(argv, sees, Frame("", outside=True), line)
    return run.found


def shell_file(run: Run, source: str, text: str) -> None:
    sees = clusters.directives(source, text, Sees(OUTER))
    run.nodes = clusters.nodes(text)
    run.scheduled = re.search(r"SLURM_|#SBATCH|#PBS|PBS_|LSB_|#BSUB", text) is not None
    env = run._walked(text, sees, Frame(source, None, calls=(source,)))
    run.found.left = None if env.dead else env
