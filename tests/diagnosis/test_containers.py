"""Which engine is asked for a container, and how: over sockets that are here, and nothing that leads elsewhere."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.diagnosis import containers
from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system.base import RUN_LIMIT, Output, Reading
from doctor.system.tree import TreeSystem

RUNS = json.dumps([{"Name": "/web", "State": {"Pid": 4711}, "Config": {}, "HostConfig": {}}])


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


def test_docker_is_asked_over_its_socket_and_never_by_a_context(root: Path) -> None:
    system = Engines(root, 0, {"docker -H unix:///var/run/docker.sock inspect": RUNS})
    found = containers.find(system, "web")
    assert (found.engine, found.pid) == ("docker", 4711)
    assert found.opener
    found.opener("/dev/kfd")
    assert all(asked.startswith("docker -H unix:///var/run/docker.sock ") for asked in system.ran)
    assert len(system.ran) == 2


def test_a_plain_user_s_own_daemon_comes_first_and_root_s_after_it(root: Path) -> None:
    own = Engines(root, 1000, {"docker -H unix:///run/user/1000/docker.sock": RUNS})
    assert containers.find(own, "web").pid == 4711
    other = Engines(root, 1000, {"docker -H unix:///var/run/docker.sock": RUNS})
    assert containers.find(other, "docker:web").pid == 4711
    assert len(other.ran) == 2


def test_podman_is_not_run_where_it_would_make_its_first_folders(root: Path) -> None:
    """`podman inspect` writes ~/.local/share/containers and ~/.config/cni before it says that there is nothing."""
    system = Engines(root, 1000, {"podman --remote=false inspect": RUNS})
    with pytest.raises(InputError, match="this account has no containers"):
        containers.find(system, "web")
    assert not [asked for asked in system.ran if "podman" in asked]
    (root / "home/me/.local/share/containers/storage").mkdir(parents=True)
    assert containers.find(system, "web").engine == "podman"
