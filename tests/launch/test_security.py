"""What the host's security layers would do to a container is said before it starts, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from doctor.facts.engines import Toolkit
from doctor.facts.snapshot import Snapshot
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.plan import plan
from tests.each import each
from tests.launch.cases import DOCKER, PODMAN
from tests.launch.machines import h100, mi300x
from tests.launch.test_ask import Host, asked, docker, podman

REMAPS = replace(DOCKER, userns_remap=True)
LABELS = replace(PODMAN, selinux=True, device_boolean=False)
HOOK = replace(DOCKER, toolkit=True, cdi=False)


def said(machine: Snapshot, engine: Engine, **wanted: Any) -> list[tuple[bool, str]]:
    troubles = plan(machine, engine, choose(machine, "0"), Request("a", **wanted)).troubles
    return [(trouble.fatal, f"{trouble.text} {trouble.fix}") for trouble in troubles]


def test_remapped_users_may_not_open_a_closed_node() -> None:
    (one,) = said(mi300x(), REMAPS)
    assert one[0]
    assert "userns-remap" in one[1]
    assert "--engine-arg=--userns=host" in one[1]


@each(
    "machine, engine, wanted",
    [
        (mi300x(mode=0o666), REMAPS, {}),
        (mi300x(), REMAPS, {"engine_args": ("--userns=host",)}),
        (mi300x(), DOCKER, {}),
    ],
)
def test_where_users_can_open_it_nothing_is_said(machine: Snapshot, engine: Engine, wanted: dict[str, Any]) -> None:
    assert said(machine, engine, **wanted) == []


@pytest.mark.parametrize("wanted", [{"network": "host"}, {"wishes": ("privileged",)}], ids=str)
def test_what_docker_refuses_while_it_remaps(wanted: dict[str, Any]) -> None:
    assert [fatal for fatal, text in said(mi300x(mode=0o666), REMAPS, **wanted) if "docker refuses" in text] == [True]


def test_selinux_is_a_note_where_its_boolean_is_off() -> None:
    assert [fatal for fatal, text in said(mi300x(), LABELS) if "container_use_devices=1" in text] == [False]
    assert said(mi300x(), replace(LABELS, device_boolean=True)) == []
    assert said(mi300x(), replace(LABELS, device_boolean=None)) == []  # unknown is not off
    assert said(mi300x(), LABELS, engine_args=("--security-opt=label=disable",)) == []


def test_a_mount_without_a_label_is_a_note_under_selinux() -> None:
    labels = replace(LABELS, device_boolean=True)
    (note,) = said(mi300x(), labels, mounts=("/data:/data:ro",))
    assert "-v /data:/data:ro,z relabels" in note[1]
    assert said(mi300x(), labels, mounts=("/data:/data:z", "hf:/cache")) == []
    assert said(mi300x(), DOCKER, mounts=("/data:/data",)) == []


def _nvidia(no_cgroups: bool | None) -> Snapshot:
    tool = Toolkit(key="nvidia", no_cgroups=no_cgroups)
    return h100(1).model_copy(update={"toolkits": (tool,)})


@pytest.mark.parametrize(
    ("no_cgroups", "rootless", "fix"),
    [
        (True, False, "no-cgroups=false"),
        (False, True, "no-cgroups=true"),
        (False, False, ""),
        (True, True, ""),
        (None, True, ""),
    ],
)
def test_no_cgroups_has_to_fit_the_engine(no_cgroups: bool | None, rootless: bool, fix: str) -> None:
    text = " ".join(text for _, text in said(_nvidia(no_cgroups), replace(HOOK, rootless=rootless), way="runtime"))
    assert ("no-cgroups=" in text, fix in text) == (bool(fix), True)


def test_a_seccomp_profile_of_the_host_counts_for_numa_alone() -> None:
    own = replace(DOCKER, seccomp="/etc/docker/seccomp.json")
    assert said(mi300x(), own) == []
    assert [fatal for fatal, _ in said(mi300x(), own, wishes=("numa",))] == [False]


def test_what_an_engine_says_of_its_layers() -> None:
    options = ["name=apparmor", "name=seccomp,profile=/etc/docker/s.json", "name=selinux", "name=userns"]
    engine = docker("28.3.0", {"SecurityOptions": options})
    assert (engine.userns_remap, engine.selinux, engine.seccomp) == (True, True, "/etc/docker/s.json")
    plain = docker("28.3.0", {"SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"]})
    assert (plain.userns_remap, plain.selinux, plain.seccomp) == (False, False, "")
    assert podman("5.4.0", security={"rootless": False, "selinuxEnabled": True}).selinux


def test_a_permissive_selinux_refuses_nothing() -> None:
    files = {"sys/fs/selinux/enforce": "0", "sys/fs/selinux/booleans/container_use_devices": "0 0"}
    told = {"ServerVersion": "28.3.0", "SecurityOptions": ["name=selinux"]}
    engine = asked(Host({"Version": "28.3.0"}, told, files))
    assert (engine.selinux, engine.device_boolean) == (False, False)
