"""Real sshd on loopback ports of this machine, each with a host key of its own: a fleet's nodes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
_SOON = 20.0


def missing() -> str | None:
    """What keeps sshd from running here; None where nothing does."""
    if not Path(SSHD).exists() or not shutil.which("ssh"):
        return "sshd or ssh not found (Debian: apt-get install openssh-server openssh-client)"
    return "starting sshd needs root" if os.geteuid() else None


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@dataclass
class Nodes:
    """`ports` has every alias that the client's configuration knows, those of no sshd too."""

    folder: Path
    ports: dict[str, int]

    @property
    def key(self) -> Path:
        return self.folder / "client"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def path(self) -> str:
        """PATH with an `ssh` that reads our configuration where it would read ~/.ssh/config, which it finds by the
        password file and not by HOME."""
        program = self.folder / "bin/ssh"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.config()} "$@"\n')
        program.chmod(0o755)
        return f"{program.parent}:{os.environ['PATH']}"

    def config(self) -> Path:
        written = self.folder / "config"
        rows = [f"Host {alias}\n  HostName 127.0.0.1\n  Port {port}\n" for alias, port in self.ports.items()]
        common = (
            f"Host *\n  IdentityFile {self.key}\n  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile none\n"
        )
        written.write_text("".join(rows) + common)
        return written

    def inventory(self) -> Path:
        """The same nodes as Ansible's own inventory names them."""
        options = f"-o UserKnownHostsFile={self.known_hosts} -o GlobalKnownHostsFile=none -F none"
        rows = [f"{alias} ansible_host=127.0.0.1 ansible_port={port}" for alias, port in self.ports.items()]
        common = (
            f"ansible_python_interpreter={sys.executable}\nansible_ssh_private_key_file={self.key}\n"
            f'ansible_ssh_common_args="{options}"'
        )
        written = self.folder / "inventory.ini"
        written.write_text("[gpu]\n" + "\n".join(rows) + f"\n[gpu:vars]\n{common}\n")
        return written


def _keygen(path: Path) -> str:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(argv, check=True, capture_output=True, timeout=30)
    return " ".join(path.with_suffix(".pub").read_text().split()[:2])


@contextlib.contextmanager
def nodes(folder: Path, answering: list[str], unknown: list[str]) -> Iterator[Nodes]:
    """An sshd for each name. The keys of `unknown` are not among the client's known hosts. Two more aliases:
    `away`, a port where nothing listens; `mute`, one that takes a connection and never speaks."""
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    made = Nodes(folder, {name: free_port() for name in (*answering, "away")})
    authorized = folder / "authorized"
    authorized.write_text(_keygen(made.key) + "\n")
    known = []
    daemons = []
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(16)
        made.ports["mute"] = mute.getsockname()[1]
        try:
            for name in answering:
                host_key = _keygen(folder / name)
                if name not in unknown:
                    known.append(f"[127.0.0.1]:{made.ports[name]} {host_key}\n")
                daemons.append(_daemon(folder, name, made.ports[name], authorized))
            made.known_hosts.write_text("".join(known))
            for name in answering:
                _until_it_listens(made.ports[name])
            yield made
        finally:
            for daemon in daemons:  # its sessions are in its group
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait(timeout=10)


def _daemon(folder: Path, name: str, port: int, authorized: Path) -> subprocess.Popen[bytes]:
    config = folder / f"{name}.sshd"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder / name}\nAuthorizedKeysFile {authorized}\nStrictModes no\n"
        f"UsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n"
        f"SetEnv DOCTOR_TEST_NODE={name}\nSubsystem sftp internal-sftp\n"
    )
    with (folder / f"{name}.log").open("wb") as log:
        argv = [SSHD, "-D", "-e", "-f", str(config)]
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def _until_it_listens(port: int) -> None:
    end = time.monotonic() + _SOON
    while not _listens(port):
        assert time.monotonic() < end, f"sshd does not listen on port {port}"
        time.sleep(0.1)


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        asked.settimeout(1)
        return asked.connect_ex(("127.0.0.1", port)) == 0
