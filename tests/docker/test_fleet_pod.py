"""The pod of the emitted Job, run by a real engine as the kubelet would: its report is a node's."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from doctor.fleet.answers import of_stream
from doctor.fleet.emit import emit
from tests.docker.conftest import run
from tests.probes import amd_trees

pytestmark = pytest.mark.engine


def flags(container: dict[str, Any], volumes: dict[str, str], node: str) -> list[str]:
    """Those of `docker run` that say what the container's part of the manifest says."""
    rights = container["securityContext"]
    assert not rights["allowPrivilegeEscalation"]
    told = ["--security-opt=no-new-privileges", *(f"--cap-drop={c}" for c in rights["capabilities"]["drop"])]
    told += ["--read-only"] * rights["readOnlyRootFilesystem"]
    told += [f"--memory={container['resources']['limits']['memory'].removesuffix('i').lower()}"]
    for mount in container["volumeMounts"]:
        told.append(f"--volume={volumes[mount['name']]}:{mount['mountPath']}{':ro' * mount['readOnly']}")
    for variable in container["env"]:
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
        told.append(f"--env={variable['name']}={node}")
    return told


def test_the_pod_reports_its_node(engine: str, image: str, installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "doctor"
    program.write_text('#!/bin/sh\nPYTHONPATH=/opt/doctor exec python3 -m doctor "$@"\n')
    program.chmod(0o755)
    wanted: dict[str, Any] = {
        "doctor": "doctor", "nodes": "node7", "partition": None, "timeout_s": 60, "image": image, "gpu_label": None,
    }  # fmt: skip
    pod = yaml.safe_load(emit("kubernetes-job", **wanted))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert [(v["name"], v["hostPath"]["path"]) for v in pod["volumes"]] == [("host", "/")]
    amd_trees.mi300x(tmp_path / "node", 0x1B, 0x3D)  # in its place a node with two GPUs
    volumes = {"host": str(tmp_path / "node")}
    # What the image of a user has inside.
    ours = [f"--volume={installed}:/opt/doctor:ro", f"--volume={program}:/usr/local/bin/doctor:ro"]
    name, *words = container["command"]
    done = run(
        engine, "run", "--rm", "--network=none", *flags(container, volumes, "node7"), *ours, f"--entrypoint={name}",
        container["image"], *words,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (answer,) = of_stream(BytesIO(done.stdout.encode()))
    assert answer.node == "node7"
    assert answer.report, answer.fault
    assert [gpu["name"] for gpu in answer.report["snapshot"]["gpus"]] == ["AMD Instinct MI300X"] * 2
    judged = [sys.executable, "-m", "doctor", "fleet", "report", "-", "--nodes", "node[7-8]", "--format", "json"]
    told = json.loads(subprocess.run(judged, input=done.stdout, capture_output=True, text=True).stdout)
    assert told["silent"] == [{"nodes": "node8", "count": 1, "reason": "nothing came from it"}]
