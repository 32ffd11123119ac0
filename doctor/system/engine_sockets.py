"""The sockets on which container engines listen, and podman's own service where none listens."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from doctor.errors import InputError

Name = Literal["docker", "podman"]
ASK_S = 8.0
_SERVICE_S = 20.0


class Unreachable(InputError):
    """No engine listens there, or this account may not ask it."""


@dataclass(frozen=True)
class Place:
    """Where an engine listens, and the certificates that a connection over TCP needs."""

    address: str
    tls: Any = False

    @property
    def is_local(self) -> bool:
        return self.address.startswith(("unix://", "http+unix://"))


def try_to_open(name: str, where: Place, timeout_s: float) -> None:
    """Connects and closes again: the SDK hides why a socket can't be opened. Raises Unreachable, with what to do about
    the two cases that everybody meets: it does not run, or this account may not ask it."""
    path = where.address.partition("://")[2]
    service = "podman.socket" if name == "podman" else "docker"
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(timeout_s)
        try:
            tried.connect(f"/{path.lstrip('/')}")
        except PermissionError as error:
            text = f"{name}: {where.address} may not be opened: sudo usermod -aG docker $USER, then log in again"
            raise Unreachable(text) from error
        except OSError as error:
            text = f"{name} does not answer: {where.address}: {error.strerror or error}; start it: "
            raise Unreachable(f"{text}sudo systemctl start {service}") from error


def _listens(name: str, where: Place) -> bool:
    try:
        try_to_open(name, where, ASK_S)
    except Unreachable:
        return False
    return True


def podman_socket(environ: Mapping[str, str]) -> Path:
    """Where podman.socket of the account listens (podman-system-service(1))."""
    if os.geteuid() == 0:
        return Path("/run/podman/podman.sock")
    return Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}") / "podman/podman.sock"


@contextmanager
def podman_service(environ: Mapping[str, str]) -> Iterator[Place]:
    there = Place(f"unix://{podman_socket(environ)}")
    if _listens("podman", there):  # a socket's file may outlive its service
        yield there
        return
    program = shutil.which("podman", path=environ.get("PATH"))
    if program is None:
        raise Unreachable("podman is not installed")
    with tempfile.TemporaryDirectory(prefix="doctor-podman-") as held:
        listens, log = Path(held) / "podman.sock", Path(held) / "log"
        with log.open("wb") as out:
            words = (program, "system", "service", "--time=0", f"unix://{listens}")
            service = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=dict(environ))
        try:
            ends = time.monotonic() + _SERVICE_S
            own = Place(f"unix://{listens}")
            while not (ready := _listens("podman", own)) and service.poll() is None and time.monotonic() < ends:
                time.sleep(0.02)
            if not ready:
                last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no answer"]
                raise Unreachable(f"podman does not answer: {last[0][:200]}")
            yield own
        finally:
            service.terminate()
            try:
                service.wait(10)
            except subprocess.TimeoutExpired:
                service.kill()
                service.wait()
