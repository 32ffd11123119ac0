"""`--from` and `--root`: the plan that is made for another machine is the plan that this machine would make itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from doctor.engine import registry
from doctor.engine.gather import gather
from doctor.engine.identify import identify
from doctor.engine.recording import Recording
from doctor.facts.origin import State
from doctor.facts.snapshot import Snapshot
from doctor.knowledge import Knowledge
from doctor.launch.ask import ask, known, rdma_nodes
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.plan import plan
from doctor.launch.spec import Spec
from doctor.parsers.container import docker_info
from doctor.system.base import Output, Reading, Stat, System
from doctor.system.capture import CaptureSystem
from doctor.system.tree import TreeSystem
from tests.each import each
from tests.fakenode import Node
from tests.fakenode.machine import Machine

PROBES = ("pci", "amd", "nvidia", "device_nodes", "account", "host", "container", "engines")
T = TypeVar("T")
FOLDERS = ["/etc/cdi", "/var/run/cdi"]
STATUS = "Package: {}\nStatus: install ok installed\nVersion: {}\n\n"


def amd_cdi(*names: str) -> str:
    devices = [
        {
            "name": name,
            "containerEdits": {"deviceNodes": [{"path": f"/dev/{node}"} for node in ("kfd", f"dri/{render}")]},
        }
        for name, render in zip(names, ("renderD128", "renderD129"), strict=True)
    ]
    return json.dumps({"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": devices})


class Host(NamedTuple):
    """A node, what of engines is on it, and what these answer when they are asked."""

    node: Node
    files: Mapping[str, str]
    version: str
    info: Mapping[str, Any]
    name: str = "docker"
    uid: int = 0


def docker(node: Node, daemon: Mapping[str, Any], info: Mapping[str, Any], **files: str) -> Host:
    """Its configuration, and what the daemon that reads it answers."""
    held = {"usr/sbin/dockerd": "", "usr/bin/docker": "\x7fELF", "etc/docker/daemon.json": json.dumps(daemon)}
    held |= {
        "var/lib/dpkg/status": STATUS.format("docker-ce", "5:27.3.1-1~ubuntu.24.04~noble"),
        "run/docker.pid": "714\n",
    }
    return Host(node, held | files, "27.3.1", {"Runtimes": {"runc": {}}, "CDISpecDirs": [], **info})


def podman(node: Node, uid: int = 0, **files: str) -> Host:
    held = {
        "usr/bin/podman": "\x7fELF",
        "usr/bin/crun": "",
        "var/lib/dpkg/status": STATUS.format("podman", "5.4.0+ds1-1"),
    }
    security = {"rootless": uid != 0, "selinuxEnabled": False}
    info = {"host": {"security": security, "ociRuntime": {"name": "crun"}}, "version": {"Version": "5.4.0"}}
    return Host(node, held | files, "5.4.0", info, "podman", uid)


AMD = Node("mi300x", 2, rocm=("6.4.1",))
NVIDIA = Node("h100", 2)
NVIDIA_RUNTIME = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}
HOSTS = {
    "docker, no CDI": docker(AMD, {}, {}),
    "docker, CDI": docker(
        AMD, {"features": {"cdi": True}}, {"CDISpecDirs": FOLDERS}, **{"etc/cdi/amd.json": amd_cdi("b", "a")}
    ),
    "docker, CDI elsewhere": docker(
        AMD,
        {"features": {"cdi": True}, "cdi-spec-dirs": ["/opt/cdi"]},
        {"CDISpecDirs": ["/opt/cdi"]},
        **{"opt/cdi/amd.json": amd_cdi("0", "1"), "etc/cdi/amd.json": "{}"},
    ),
    "docker, a spec that is not read": docker(AMD, {}, {}, **{"etc/cdi/amd.json": amd_cdi("0", "1")}),
    "docker, userns-remap": docker(
        AMD, {"userns-remap": "default"}, {"SecurityOptions": ["name=seccomp,profile=builtin", "name=userns"]}
    ),
    "docker, a seccomp profile": docker(
        AMD, {"seccomp-profile": "/etc/own.json"}, {"SecurityOptions": ["name=seccomp,profile=/etc/own.json"]}
    ),
    "docker, nvidia runtime": docker(NVIDIA, NVIDIA_RUNTIME, {"Runtimes": {"runc": {}, "nvidia": {}}}),
    "docker, the toolkit's hook": docker(
        NVIDIA, {}, {}, **{"usr/bin/nvidia-ctk": "", "usr/bin/nvidia-container-runtime-hook": ""}
    ),
    "docker, no toolkit": docker(NVIDIA, {}, {}),
    "podman of root": podman(AMD, 0, **{"etc/cdi/amd.json": amd_cdi("0", "1")}),
    "podman of root, nvidia": podman(NVIDIA),
}
ROOTLESS = {"podman, rootless": podman(AMD, 1000), "podman, rootless, nvidia": podman(NVIDIA, 1000)}


class Files(TreeSystem):
    """The machine as a tree that was copied by root: its nodes are nodes."""

    def __init__(self, root: Path, machine: Machine) -> None:
        super().__init__(root)
        self.root = root
        self.nodes = {f"dev/{path}": node for path, node in machine.nodes.items()}

    def stat(self, path: str) -> Reading[Stat]:
        if (node := self.nodes.get(path)) is None:
            return super().stat(path)
        return Reading(State.VALUE, f"file:/{path}", Stat("char", node.mode, node.uid, node.gid, 0, 1, 3))


class Live(Files):
    """The machine itself: its engines answer."""

    kind = "live"

    def __init__(self, root: Path, machine: Machine, host: Host) -> None:
        super().__init__(root, machine)
        self.host = host

    def stat(self, path: str) -> Reading[Stat]:
        if path == "var/run/docker.sock" and self.host.name == "docker":
            return Reading(State.VALUE, f"file:/{path}", Stat("socket", 0o660, 0, 0, 0))
        return super().stat(path)

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:
        if name == "docker-info":
            answer: Any = docker_info.read({"Version": self.host.version}, self.host.info)
            return Reading(State.VALUE, f"file:/{path}", answer)
        return super().derived(name, path, work)

    def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
        answers = {"--version": f"podman version {self.host.version}\n", "info": json.dumps(self.host.info)}
        if argv[0] == "podman" and self.host.name == "podman":
            return Reading(State.VALUE, "command", Output(0, answers[argv[1]], "", 0.0))
        return Reading(State.ABSENT, "command", None, "no such program")

    def account(self) -> Reading[Mapping[str, Any]]:
        return Reading(State.VALUE, "account", {"uid": self.host.uid, "gid": self.host.uid, "gids": [self.host.uid]})

    def which(self, name: str) -> Reading[str]:
        there = super().stat(f"usr/bin/{name}").known
        return Reading(State.VALUE if there else State.ABSENT, "path", f"/usr/bin/{name}" if there else None)

    def connect(self, *_: Any) -> Any:
        return self

    def close(self) -> None:
        """Nothing is held."""

    def version(self) -> Any:
        return {"Version": self.host.version}

    def info(self) -> Any:
        return self.host.info


def seen(system: System, record: Recording | None = None) -> Snapshot:
    return identify(gather(system, registry.probes(PROBES), record=record).machine, Knowledge())


def plans(system: System, machine: Snapshot, engine: Engine | None) -> Iterator[Spec]:
    assert engine is not None
    for gpus in ("all", "1"):
        for wishes in ((), ("rdma", "numa")):
            request = Request("a", wishes=wishes, shm_bytes=1 << 30, rdma_nodes=rdma_nodes(system))
            yield plan(machine, engine, choose(machine, gpus, cdi=engine.cdi_nodes()), request)


@contextmanager
def stood_up(host: Host) -> Iterator[Live]:
    with host.node.laid_out() as laid:
        for name, text in host.files.items():
            path = laid.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        yield Live(laid.root, laid.machine, host)


@pytest.fixture(scope="module")
def own() -> dict[str, tuple[list[Spec], Recording]]:
    """What each host plans by itself, and what it was asked for that."""
    made = {}
    for case, host in {**HOSTS, **ROOTLESS}.items():
        with stood_up(host) as live:
            record = Recording()
            machine = seen(live, record)
            made[case] = list(plans(live, machine, ask(live, host.name, {}, live.connect))), record  # type: ignore[arg-type]
    return made


@each("case", [*HOSTS, *ROOTLESS])
def test_of_a_recording(case: str, own: dict[str, tuple[list[Spec], Recording]]) -> None:
    there = CaptureSystem.of(json.loads(json.dumps(own[case][1].entries)))
    machine = seen(there)
    engine = known(there, machine, {**HOSTS, **ROOTLESS}[case].name)  # type: ignore[arg-type]
    assert list(plans(there, machine, engine)) == own[case][0]


@each("case", list(HOSTS))
def test_of_a_tree(case: str, own: dict[str, tuple[list[Spec], Recording]]) -> None:
    """What the daemon answers is read from its configuration and package."""
    with stood_up(HOSTS[case]) as live:
        tree = Files(live.root, live.host.node.machine())
        machine = seen(tree)
        assert list(plans(tree, machine, known(tree, machine, live.host.name))) == own[case][0]  # type: ignore[arg-type]


def test_the_hosts_do_not_all_plan_the_same(own: dict[str, tuple[list[Spec], Recording]]) -> None:
    """So that the tests above compare more than defaults."""
    assert len({repr(own[case][0]) for case in HOSTS}) == len(HOSTS)


def test_a_machine_without_that_engine(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    tree = TreeSystem(tmp_path)
    assert known(tree, seen(tree), "docker") is None


@pytest.mark.parametrize("mode", [0o660, None])
def test_a_tree_with_plain_files_for_nodes_says_so(mode: int | None) -> None:
    with stood_up(HOSTS["docker, no CDI"]) as live:
        tree = Files(live.root, live.host.node.machine()) if mode else TreeSystem(live.root)
        machine = seen(tree)
        spec = plan(machine, known(tree, machine, "docker"), choose(machine, "0"), Request("a"))
    assert [part.value for part in spec.of("device")] == ["/dev/kfd", "/dev/dri/renderD128"]
    said = [trouble for trouble in spec.troubles if "is not known" in trouble.text]
    assert [trouble.fatal for trouble in said] == ([] if mode else [False])
    assert [part.value for part in spec.of("group")] == (["109"] if mode else [])
