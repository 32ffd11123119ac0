"""The container engines of a host and the CDI specs that they would read, from files."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.engine.judge import judge
from doctor.facts.sheet import FactSheet, assemble
from doctor.facts.snapshot import Snapshot
from doctor.knowledge import Knowledge
from doctor.probes.container import engines
from doctor.system.tree import TreeSystem
from tests.probes.amd_trees import write

SPEC = {
    "cdiVersion": "0.6.0",
    "kind": "amd.com/gpu",
    "devices": [
        {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/kfd"}, {"path": "/dev/dri/renderD128"}]}}
    ],
}


def seen(root: Path, more: FactSheet | None = None) -> Snapshot:
    sheet = FactSheet()
    engines.probe(TreeSystem(root), sheet)
    return assemble([sheet, more or FactSheet()])


def test_docker_its_runtimes_and_versions(tmp_path: Path) -> None:
    status = "Package: docker.io\nStatus: install ok installed\nVersion: 26.1.5+dfsg1-9\n\n"
    toolkit = "Package: nvidia-container-toolkit\nStatus: install ok installed\nVersion: 1.17.8-1\n\n"
    daemon = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "features": {"cdi": True}}
    write(
        tmp_path,
        {
            "usr/sbin/dockerd": "",
            "usr/bin/nvidia-ctk": "",
            "etc/docker/daemon.json": json.dumps(daemon),
            "var/lib/dpkg/status": status + toolkit,
            "dev/nvidiactl": "",
        },
    )
    machine = seen(tmp_path)
    docker = (machine.engines or ())[0]
    assert (docker.key, docker.version, docker.runtimes, docker.cdi) == ("docker", "26.1.5", ("nvidia",), True)
    assert [(t.key, t.version) for t in machine.toolkits or ()] == [("nvidia", "1.17.8")]


def test_a_machine_without_engines_has_none_and_a_partial_tree_is_unknown(tmp_path: Path) -> None:
    write(tmp_path, {"usr/bin/true": "", "etc/hostname": "a"})
    assert seen(tmp_path).engines == ()
    (tmp_path / "empty").mkdir()
    assert seen(tmp_path / "empty").engines is None


def test_a_spec_that_names_what_is_not_there_is_stale(tmp_path: Path) -> None:
    write(tmp_path, {"etc/cdi/amd.json": json.dumps(SPEC), "dev/kfd": "", "usr/bin/true": ""})
    machine = seen(tmp_path)
    assert (machine.cdi or ())[0].missing == ("/dev/dri/renderD128",)
    found = [f for f in judge(machine, Knowledge(), None).findings if f.rule == "cdi-spec-missing-or-stale"]
    assert "which does not exist" in found[0].summary
    assert found[0].severity.value == "warning"


def test_a_spec_whose_paths_are_all_there_is_none(tmp_path: Path) -> None:
    write(tmp_path, {"etc/cdi/amd.json": json.dumps(SPEC), "dev/kfd": "", "dev/dri/renderD128": ""})
    assert not [f for f in judge(seen(tmp_path), Knowledge(), None).findings if f.rule.startswith("cdi-")]


def test_a_spec_of_the_driver_before_the_update(tmp_path: Path) -> None:
    mount = {"hostPath": "/usr/lib/libcuda.so.570.124.06", "containerPath": "/usr/lib/libcuda.so.570.124.06"}
    spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [], "containerEdits": {"mounts": [mount]}}
    write(tmp_path, {"var/run/cdi/nvidia.yaml": json.dumps(spec), "usr/lib/libcuda.so.570.124.06": ""})
    driver = FactSheet()
    driver.put("nvidia_driver.version", "575.57.08", "file:/proc/driver/nvidia/version")
    found = [f for f in judge(seen(tmp_path, driver), Knowledge(), None).findings if f.rule.startswith("cdi-")]
    assert "is for driver 570.124.06, but 575.57.08 is loaded" in found[0].summary


NUMBERED = {
    "cdiVersion": "0.5.0",
    "kind": "nvidia.com/gpu",
    "devices": [],
    "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia-uvm", "major": 506}, {"path": "/dev/nvidiactl"}]},
}


def _of_node(root: Path, major: int, *folders: str) -> list[str]:
    spec = {f"{folder}/nvidia.yaml": json.dumps(NUMBERED) for folder in folders}
    write(root, {**spec, "dev/nvidia-uvm": "", "dev/nvidiactl": ""})
    node = FactSheet()
    node.put("nodes[/dev/nvidia-uvm].kind", "nvidia-uvm", "stat:/dev/nvidia-uvm")
    node.put("nodes[/dev/nvidia-uvm].major", major, "stat:/dev/nvidia-uvm")
    machine = seen(root, node)
    return [f.summary for f in judge(machine, Knowledge(), None).findings if f.rule.startswith("cdi-")]


def test_a_spec_that_numbers_a_node_as_it_was_before(tmp_path: Path) -> None:
    (told,) = _of_node(tmp_path, 504, "etc/cdi")
    assert "lists major number 506 for /dev/nvidia-uvm; it is 504" in told


def test_a_spec_with_the_number_of_the_host_is_none(tmp_path: Path) -> None:
    assert _of_node(tmp_path, 506, "etc/cdi") == []


def test_only_the_spec_that_an_engine_takes_is_told(tmp_path: Path) -> None:
    told = _of_node(tmp_path, 504, "etc/cdi", "var/run/cdi")
    assert [line.split()[3] for line in told] == ["/var/run/cdi/nvidia.yaml"]


def _configured(root: Path, text: str) -> list[str | None]:
    write(root, {"usr/sbin/dockerd": "", "etc/docker/daemon.json": text, "usr/bin/true": ""})
    return [engine.config_error for engine in seen(root).engines or ()]


def test_a_broken_line_of_docker_s_configuration_is_named(tmp_path: Path) -> None:
    assert _configured(tmp_path, '{"runtimes": {}') == ["/etc/docker/daemon.json, line 1: Expecting ',' delimiter"]


def test_what_is_no_text_is_not_called_broken(tmp_path: Path) -> None:
    assert _configured(tmp_path, "\x00{]") == [None]
