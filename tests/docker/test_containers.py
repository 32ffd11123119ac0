"""The doctor inside real containers that hold ROCm's user space from Debian."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import Container

pytestmark = pytest.mark.engine

RENDER_GID = 992
CHECK = ["python3", "-m", "doctor", "check", "--format", "json"]


def report(container: Container, *flags: str) -> dict[str, Any]:
    done = container(*flags, argv=CHECK)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def raised(report: dict[str, Any]) -> list[str]:
    return [f["rule"] for f in report["findings"] if f["severity"] == "error"]


@pytest.fixture
def node_folder(tmp_path: Path) -> Path:
    """/dev/kfd and a render node that are only device nodes: numbers that no driver here serves, owned by gid 992."""
    if os.geteuid():
        pytest.skip("mknod needs root")
    for name, major, minor in (("kfd", 510, 0), ("renderD128", 226, 250)):
        os.mknod(tmp_path / name, stat.S_IFCHR | 0o660, os.makedev(major, minor))
        (tmp_path / name).chmod(0o660)
        os.chown(tmp_path / name, 0, RENDER_GID)
    return tmp_path


def passed(folder: Path) -> list[str]:
    return ["--device", f"{folder}/kfd:/dev/kfd", "--device", f"{folder}/renderD128:/dev/dri/renderD128"]


def test_it_knows_the_container_and_that_no_gpu_is_there(container: Container) -> None:
    told = report(container)
    assert told["status"] == "unknown"
    assert "no-gpu-found" in [f["rule"] for f in told["findings"]]
    assert told["snapshot"]["container"] == {**told["snapshot"]["container"], "inside": True, "engine": "docker"}
    assert raised(told) == []


def steps(finding: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for remedy in finding["remedies"] for step in remedy["steps"]]


def test_a_driver_on_the_host_and_no_device_is_a_missing_passthrough(container: Container, mi300x_sys: Path) -> None:
    told = report(container, "-v", f"{mi300x_sys}:/sys:ro")
    assert raised(told)[0] == "container-missing-gpu-passthrough"
    finding = next(f for f in told["findings"] if f["rule"] == "container-missing-gpu-passthrough")
    commands = [" ".join(step["command"] or ()) for step in steps(finding)]
    assert any("--device" in command and "/dev/kfd" in command for command in commands)


def test_passed_and_not_permitted_names_the_gid(container: Container, mi300x_sys: Path, node_folder: Path) -> None:
    told = report(container, "-v", f"{mi300x_sys}:/sys:ro", *passed(node_folder), "--user", "1000:1000")
    assert raised(told)[0] == "container-render-group-mismatch"
    finding = next(f for f in told["findings"] if f["rule"] == "container-render-group-mismatch")
    assert str(RENDER_GID) in finding["summary"]
    assert any(step["command"] and str(RENDER_GID) in " ".join(step["command"]) for step in steps(finding))


def test_the_gid_given_by_number_mends_it(container: Container, mi300x_sys: Path, node_folder: Path) -> None:
    flags = ["-v", f"{mi300x_sys}:/sys:ro", *passed(node_folder), "--user", "1000:1000", "--group-add", str(RENDER_GID)]
    told = report(container, *flags)
    assert "container-render-group-mismatch" not in raised(told)
    assert "device-node-permission" not in raised(told)


def test_root_in_the_container_is_permitted(container: Container, mi300x_sys: Path, node_folder: Path) -> None:
    told = report(container, "-v", f"{mi300x_sys}:/sys:ro", *passed(node_folder))
    assert not {"container-render-group-mismatch", "device-node-permission"} & set(raised(told))
