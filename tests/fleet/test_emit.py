"""Texts for other engines: manifests by the schemas of Kubernetes, scripts by shellcheck."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from doctor.errors import InputError
from doctor.fleet.emit import KINDS, emit
from tests.each import each

PLAIN: dict[str, Any] = {
    "doctor": "doctor",
    "nodes": "n[1-3]",
    "partition": None,
    "timeout_s": 60,
    "image": "doctor:1",
    "gpu_label": None,
}

VERSIONS = ("1.25", "1.28", "1.31", "1.33", "1.35")
"""Of Kubernetes, from what some still run to the newest."""


@each("kind", ["kubernetes-job", "kubernetes-daemonset"])
@each("version", VERSIONS)
def test_manifests_are_what_each_kubernetes_takes(kind: str, version: str) -> None:
    made = yaml.safe_load(emit(kind, **PLAIN))
    kubernetes_validate.validate(made, version, strict=True)
    made["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(made, version, strict=True)


@pytest.mark.parametrize("kind", ["kubernetes-job", "kubernetes-daemonset"])
@pytest.mark.parametrize("label", [None, "nvidia.com/gpu.present=true"])
def test_manifests_are_what_kubernetes_takes(kind: str, label: str | None) -> None:
    made = yaml.safe_load(emit(kind, **{**PLAIN, "gpu_label": label}))
    kubernetes_validate.validate(made, "1.31", strict=True)
    pod = made["spec"]["template"]["spec"]
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["volumes"][0]["hostPath"]["path"] == "/"
    assert pod["containers"][0]["volumeMounts"][0]["readOnly"]
    assert pod.get("nodeSelector") == ({"nvidia.com/gpu.present": "true"} if label else None)


def test_a_job_runs_once_on_each_named_node() -> None:
    spec = yaml.safe_load(emit("kubernetes-job", **PLAIN))["spec"]
    assert (spec["parallelism"], spec["completions"]) == (3, 3)
    affinity = spec["template"]["spec"]["affinity"]
    wanted = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert wanted[0]["matchExpressions"][0]["values"] == ["n1", "n2", "n3"]
    with pytest.raises(InputError, match="--nodes"):
        emit("kubernetes-job", **{**PLAIN, "nodes": None})


def test_the_batch_script_is_sound_shell(tmp_path: Path) -> None:
    script = tmp_path / "fleet.sh"
    more = {"doctor": "/opt/my doctor/$x", "partition": "gpu", "options": ["--gres=gpu:8"]}
    script.write_text(emit("sbatch", **{**PLAIN, **more}))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([str(shellcheck), "-e", "SC2016", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "#SBATCH --nodelist=n[1-3]\n" in script.read_text()
    assert "#SBATCH --gres=gpu:8\n" in script.read_text()
    assert "'/opt/my doctor/$x'" in script.read_text()


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("sbatch", {"partition": "gpu\nreboot"}),
        ("sbatch", {"nodes": "n1 -w x;y"}),
        ("sbatch", {"options": ["--gres=gpu:8\nreboot"]}),
        ("sbatch", {"options": ["-o x"]}),
        ("kubernetes-job", {"image": "x\n  y: z"}),
        ("kubernetes-daemonset", {"gpu_label": "novalue"}),
    ],
)
def test_names_that_would_be_read_as_something_else_are_refused(kind: str, given: dict[str, str]) -> None:
    with pytest.raises(InputError):
        emit(kind, **{**PLAIN, **given})


def test_every_kind_is_made() -> None:
    assert all(emit(kind, **PLAIN) for kind in KINDS)
