"""Which engine is asked for a container, and how: over sockets that are here, and nothing that leads elsewhere."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.engine import containers
from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system.base import RUN_LIMIT, Output, Reading
from doctor.system.engine_api import NotThere, Ran
from doctor.system.engine_sockets import Place
from doctor.system.tree import TreeSystem

WEB = {"Name": "/web", "State": {"Pid": 4711}, "Config": {}, "HostConfig": {}}
RUNS = json.dumps([WEB])


class Engines(TreeSystem):
    """A tree with engines that answer from a table of argv; what was asked is kept."""

    def __init__(self, root: Path, uid: int, answers: Mapping[str, str]) -> None:
        super().__init__(root)
        self.uid, self.answers, self.ran = uid, answers, list[str]()

    def which(self, name: str) -> Reading[str]:
        return Reading(State.VALUE, f"command:{name}", f"/usr/bin/{name}")

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:
        self.ran.append(" ".join(argv))
        text = next((told for start, told in self.answers.items() if self.ran[-1].startswith(start)), "")
        return Reading(State.VALUE, "command:x", Output(0 if text else 1, text, "" if text else "no such", 0.0))

    def account(self) -> Reading[Mapping[str, Any]]:
        return Reading(State.VALUE, "account", {"uid": self.uid})

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.VALUE, "environ", {"HOME": "/home/me"})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "var/run").mkdir(parents=True)
    (tmp_path / "run/user/1000").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)  # the path of a socket may have 108 characters
    for path in ("var/run/docker.sock", "run/user/1000/docker.sock"):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path)
    return tmp_path


class Connected:
    """Engines by the place of their socket; each has the containers of a table."""

    def __init__(self, **engines: Mapping[str, Any]) -> None:
        self.engines, self.asked = engines, list[str]()

    def __call__(self, name: str, where: Place) -> Any:
        self.asked.append(where.address)
        found = next((c for key, c in self.engines.items() if f"/{key}/" in where.address.replace("run/user", "")), {})
        return _Engine(name, found)


class _Engine:
    def __init__(self, name: str, containers: Mapping[str, Any]) -> None:
        self.name, self.containers = name, containers

    def close(self) -> None:
        """Nothing is held."""

    def container(self, name: str) -> Any:
        if name not in self.containers:
            raise NotThere(f"{name}: No such container")
        return self.containers[name]

    def execute(self, name: str, argv: Sequence[str]) -> Ran:
        return Ran(2, "", f"sh: 1: cannot open {argv[-1]}: Permission denied")


def test_docker_is_asked_over_its_socket_and_never_by_a_context(root: Path) -> None:
    system, engines = Engines(root, 0, {}), Connected(var={"web": WEB})
    found = containers.find(system, "web", engines)
    assert (found.engine, found.pid) == ("docker", 4711)
    assert found.opener
    assert found.opener("/dev/kfd").value == "EACCES"
    assert engines.asked == ["unix:///var/run/docker.sock"]
    assert system.ran == []


def test_a_plain_user_s_own_daemon_comes_first_and_root_s_after_it(root: Path) -> None:
    own = Connected(**{"1000": {"web": WEB}})
    assert containers.find(Engines(root, 1000, {}), "web", own).pid == 4711
    assert own.asked == ["unix:///run/user/1000/docker.sock"]
    other = Connected(var={"web": WEB})
    assert containers.find(Engines(root, 1000, {}), "docker:web", other).pid == 4711
    assert len(other.asked) == 2


def test_podman_is_asked_over_its_socket_where_it_listens(root: Path) -> None:
    (root / "run/user/1000/podman").mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("run/user/1000/podman/podman.sock")
    system, engines = Engines(root, 1000, {}), Connected(podman={"web": WEB})
    assert containers.find(system, "podman:web", engines).engine == "podman"
    assert system.ran == []


def test_a_stopped_container_and_one_that_is_not_there(root: Path) -> None:
    stopped = Connected(var={"web": {**WEB, "State": {"Pid": 0}}})
    with pytest.raises(InputError, match="docker: web does not run"):
        containers.find(Engines(root, 0, {}), "docker:web", stopped)
    with pytest.raises(InputError, match="db: No such container"):
        containers.find(Engines(root, 0, {}), "docker:db", stopped)


def test_podman_is_not_run_where_it_would_make_its_first_folders(root: Path) -> None:
    """`podman inspect` writes ~/.local/share/containers and ~/.config/cni before it says that there is nothing."""
    system = Engines(root, 1000, {"podman --remote=false inspect": RUNS})
    with pytest.raises(InputError, match="this account has no containers"):
        containers.find(system, "web", Connected())
    assert not [asked for asked in system.ran if "podman" in asked]
    (root / "home/me/.local/share/containers/storage").mkdir(parents=True)
    assert containers.find(system, "web", Connected()).engine == "podman"
