"""A real Slurm on this machine: one controller and eight slurmd, each under its own name and port."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

NODES = 8
GPUS = 2
"""That the scheduler believes each node to have."""
PROGRAMS = ("slurmctld", "slurmd", "srun", "sinfo", "scontrol", "munged")
_SOON = 20.0


def missing() -> str | None:
    """What keeps Slurm from running here; None where nothing does."""
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    if absent:
        return f"{', '.join(absent)} not found (Debian: apt-get install slurm-wlm munge)"
    return "starting slurmd needs root" if os.geteuid() else None


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


class Cluster:
    """A cluster in one folder. `more` are further lines of slurm.conf."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder = folder
        self.config = folder / "slurm.conf"
        self.environment = {**os.environ, "SLURM_CONF": str(self.config)}
        (folder / "state").mkdir()
        for n in range(GPUS):
            (folder / f"gpu{n}").touch()  # slurmd wants the files to be there
        self.gres = folder / "gres.conf"
        self.gres.write_text(f"NodeName=node[1-{NODES}] Name=gpu Type=mi300x File={folder}/gpu[0-{GPUS - 1}]\n")
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.config.write_text(self._config(more))

    def _config(self, more: str) -> str:
        f = self.folder
        nodes = [
            f"NodeName=node{n} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs=2 RealMemory=100"
            f" Gres=gpu:mi300x:{GPUS}"
            for n in range(1, NODES + 1)
        ]
        return "\n".join([
            "ClusterName=doctor", "SlurmctldHost=localhost", "SlurmUser=root", f"SlurmctldPort={free_port()}",
            f"SlurmctldPidFile={f}/ctld.pid", f"SlurmdPidFile={f}/%n.pid", f"SlurmdSpoolDir={f}/spool-%n",
            f"StateSaveLocation={f}/state", f"SlurmctldLogFile={f}/ctld.log", f"SlurmdLogFile={f}/%n.log",
            "AuthType=auth/munge", f"AuthInfo=socket={f}/munge.sock", "CredType=cred/munge",
            "ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "SelectType=select/cons_tres",
            "SwitchType=switch/none", "MpiDefault=none", "ReturnToService=2", "SlurmdTimeout=6", "MessageTimeout=5",
            "KillWait=2", "UnkillableStepTimeout=10", "SlurmdParameters=config_overrides", "GresTypes=gpu", *nodes,
            "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP", more, "",
        ])  # fmt: skip

    def start(self) -> None:
        f = self.folder
        munge = ["munged", f"--key-file={f}/key", f"--socket={f}/munge.sock", f"--pid-file={f}/munge.pid",
                 f"--log-file={f}/munge.log", f"--seed-file={f}/munge.seed", "--force"]  # fmt: skip
        subprocess.run(munge, check=True, capture_output=True, timeout=30)
        self.until(lambda: (f / "munge.sock").exists(), "munged to listen")
        self._run("slurmctld", "-f", str(self.config))
        for n in range(1, NODES + 1):
            self.start_node(f"node{n}")
        self.until(lambda: list(self.states().values()).count("idle") == NODES, "eight idle nodes")

    def start_node(self, node: str) -> None:
        (self.folder / f"spool-{node}").mkdir(exist_ok=True)
        self._run("slurmd", "-f", str(self.config), "-N", node)

    def _run(self, *argv: str) -> None:
        # A daemon keeps what it inherits open: files, not pipes that somebody waits for.
        with (self.folder / "started.log").open("ab") as log:
            subprocess.run(argv, check=True, stdout=log, stderr=log, timeout=30, env=self.environment)

    def ask(self, *argv: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, env=self.environment)

    def states(self) -> dict[str, str]:
        rows = self.ask("sinfo", "-h", "-N", "-o", "%N %T").stdout.split("\n")
        return dict(row.split() for row in rows if row)

    def repaired(self) -> bool:
        """Whether all nodes are idle; what keeps one from it (a dead slurmd, a drain) is taken away."""
        for node, state in self.states().items():
            if not self._lives(node):
                self.start_node(node)
            elif state.startswith(("drain", "down")):
                self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
        return set(self.states().values()) == {"idle"}

    def _lives(self, node: str) -> bool:
        try:
            os.kill(int((self.folder / f"{node}.pid").read_text()), 0)
        except (OSError, ValueError):
            return False
        return True

    def reason(self, node: str) -> str:
        return self.ask("sinfo", "-h", "-n", node, "-o", "%E").stdout.strip()

    def until(self, holds: Callable[[], bool], what: str, seconds: float = _SOON) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                log = self.folder / "ctld.log"
                told = log.read_text()[-1500:] if log.exists() else ""
                raise AssertionError(f"waited {seconds:.0f} s for {what}; {self.states()}\n{told}")
            time.sleep(0.2)

    def stop(self) -> None:
        for pid_file in [self.folder / "ctld.pid", *self.folder.glob("node*.pid"), self.folder / "munge.pid"]:
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(pid_file.read_text()), signal.SIGKILL)
        # Step daemons of killed nodes, by their command line within this folder.
        for proc in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(self.folder).encode() in (proc / "environ").read_bytes() and int(proc.name) != os.getpid():
                    os.kill(int(proc.name), signal.SIGKILL)


@contextlib.contextmanager
def cluster(folder: Path, more: str = "") -> Iterator[Cluster]:
    made = Cluster(folder, more)
    try:
        made.start()
        yield made
    finally:
        made.stop()
