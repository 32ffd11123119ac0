"""How an engine runs, by its answer or its files; and answers and files that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet, assemble
from doctor.facts.snapshot import Snapshot
from doctor.probes.container import engines
from doctor.system.base import Reading, Stat
from doctor.system.tree import TreeSystem
from tests.each import each
from tests.probes.amd_trees import write

T = TypeVar("T")
HOST = {"usr/sbin/dockerd": "", "run/docker.pid": "714\n", "dev/kfd": "", "etc/hostname": "a"}


class Answering(TreeSystem):
    """A live machine whose Docker answered that."""

    kind = "live"
    answer: Any = None

    def stat(self, path: str) -> Reading[Stat]:
        if path == "var/run/docker.sock":
            return Reading(State.VALUE, path, Stat("socket", 0o660, 0, 0, 0))
        return super().stat(path)

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:
        return Reading(State.VALUE, path, self.answer)


def seen(root: Path, answer: Any = None, **files: str) -> Snapshot:
    write(root, {**HOST, **files})
    system = TreeSystem(root) if answer is None else Answering(root)
    if isinstance(system, Answering):
        system.answer = answer
    sheet = FactSheet()
    engines.probe(system, sheet)
    return assemble([sheet])


def test_what_it_answers_counts_for_more_than_its_configuration(tmp_path: Path) -> None:
    daemon = json.dumps({"userns-remap": "default"})
    docker = (
        seen(tmp_path, {"version": "26.1.5", "userns_remap": False}, **{"etc/docker/daemon.json": daemon}).engines or ()
    )[0]
    assert (docker.mode.version, docker.mode.userns_remap) == ("26.1.5", False)


@each(
    "answer",
    [
        [],
        "x",
        {"version": 5},
        {"rootless": "perhaps"},
        {"no_fact": 1},
        {"limits": {"a": "b"}},
        {"runtimes": [7]},
        {"version": None},
        {"rootless": 1},
        {"x].y[": 1},
        {"unknown": None},
        {"version": "9" * 6000},
        {"seccomp_profile": "/\x1b[31m"},
        {"cdi_folders": ["../etc"]},
        {"cdi_folders": ["/a"] * 200},
    ],
)
def test_a_recording_of_something_else_is_no_answer(tmp_path_factory: pytest.TempPathFactory, answer: Any) -> None:
    docker = (seen(tmp_path_factory.mktemp("root"), answer).engines or ())[0]
    assert (docker.mode.version, docker.mode.userns_remap, docker.mode.rootless) == (None, False, None)


@each(
    "daemon, facts",
    [
        ({}, {"userns_remap": False, "seccomp_profile": "", "runtimes": ()}),
        ({"userns-remap": "doctor"}, {"userns_remap": True}),
        ({"seccomp-profile": "/etc/a.json"}, {"seccomp_profile": "/etc/a.json"}),
        ({"seccomp-profile": "unconfined"}, {"seccomp_profile": ""}),
        ({"runtimes": {"nvidia": {}}}, {"runtimes": ("nvidia",)}),
        ({"runtimes": [1], "features": 7, "cdi-spec-dirs": "x"}, {"runtimes": (), "cdi_folders": None}),
    ],
)
def test_by_its_configuration(tmp_path_factory: pytest.TempPathFactory, daemon: Any, facts: dict[str, Any]) -> None:
    mode = (seen(tmp_path_factory.mktemp("root"), **{"etc/docker/daemon.json": json.dumps(daemon)}).engines or ())[
        0
    ].mode
    assert {name: getattr(mode, name) for name in facts} == facts


@each(
    "version, features, folders",
    [
        ("27.3.1", {}, ()),
        ("27.3.1", {"cdi": True}, ("/etc/cdi", "/var/run/cdi")),
        ("28.3.0", {}, ("/etc/cdi", "/var/run/cdi")),
        ("28.3.0", {"cdi": False}, ()),
    ],
)
def test_whether_it_reads_cdi_specs(
    tmp_path_factory: pytest.TempPathFactory, version: str, features: dict[str, bool], folders: tuple[str, ...]
) -> None:
    status = f"Package: docker-ce\nStatus: install ok installed\nVersion: 5:{version}-1\n\n"
    files = {"var/lib/dpkg/status": status, "etc/docker/daemon.json": json.dumps({"features": features})}
    assert (seen(tmp_path_factory.mktemp("root"), **files).engines or ())[0].mode.cdi_folders == folders


@each(
    "pid, status",
    [
        ("714", "CapEff:\tnonsense\n"),
        ("714", "CapEff:\n"),
        ("../1", "CapEff:\t0\n"),
        ("٧", "CapEff:\t0\n"),
        ("9" * 400, "CapEff:\t0\n"),
    ],
)
def test_files_of_a_process_that_are_none(tmp_path_factory: pytest.TempPathFactory, pid: str, status: str) -> None:
    files = {"run/docker.pid": pid, "proc/714/status": status, "proc/714/limits": "Max locked memory"}
    assert (seen(tmp_path_factory.mktemp("root"), **files).engines or ())[0].mode.limits == {}


def test_podman_on_a_tree_is_known_by_its_package_and_its_runtime(tmp_path: Path) -> None:
    status = "Package: podman\nStatus: install ok installed\nVersion: 5.4.0+ds1-1\n\n"
    conf = '[engine]\nruntime = "/usr/bin/runc"\n'
    files = {"usr/bin/podman": "", "usr/bin/crun": "", "var/lib/dpkg/status": status}
    found = {one.key: one.mode for one in seen(tmp_path, **files).engines or ()}
    assert (found["podman"].version, found["podman"].oci_runtime, found["podman"].rootless) == ("5.4.0", "crun", None)
    again = {one.key: one.mode for one in seen(tmp_path, **{"etc/containers/containers.conf": conf}).engines or ()}
    assert again["podman"].oci_runtime == "runc"
