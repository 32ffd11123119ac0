"""Every format, over every vendor and way: valid for its consumer, a reason for each flag, and no right too many."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft202012Validator

from doctor.errors import InputError
from doctor.launch import formats
from doctor.launch.formats import emit
from doctor.launch.spec import Emitted, Part, Spec, beside_gpus
from tests.each import each
from tests.launch.cases import IMAGE, WORKLOAD, planned

WISHES = ("privileged", "ipc-host", "seccomp-unconfined", "numa")
ASKED = planned(WORKLOAD, wishes=WISHES, user="1000:1000", env=("A=b",), mounts=("/data:/data:ro",))
CASES = {**planned(), **{f"{name}, workload": spec for name, spec in planned(WORKLOAD).items()}}
ALL = {**CASES, **{f"{name}, asked": spec for name, spec in ASKED.items()}}
FORBIDDEN = re.compile(
    r"privileged\b(?!Escalation: false)|unconfined|ipc.?host|hostIPC|SYS_ADMIN|host(PID|Network)", re.IGNORECASE
)
SHELL = ("docker", "podman", "apptainer", "enroot")
GPU_KINDS = {"device", "cdi", "gpus", "runtime", "group", "env"}
every_format = pytest.mark.parametrize("name", formats.names())


@cache
def shown_as(name: str, case: str) -> Emitted:
    return emit(name, ALL[case])


def keys(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every leaf, list places left out."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from keys(inner, (*path, str(name)))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from keys(inner, path)
    else:
        yield path


@every_format
def test_nothing_is_privileged_unconfined_or_of_the_host_s_ipc(name: str) -> None:
    assert [case for case in CASES if FORBIDDEN.search(shown_as(name, case).text)] == []


@pytest.mark.parametrize("name", ["docker", "podman", "compose", "kubernetes", "devcontainer"])
def test_asked_for_it_is_there_with_the_reason(name: str) -> None:
    shown = emit(name, ASKED["amd nodes"])
    for word in ("privileged", "unconfined", "ipc"):
        assert re.search(word, shown.text, re.I), word
        assert any(re.search(word, line.text, re.I) and "you asked for it" in line.reason for line in shown.lines)


@every_format
def test_each_line_has_a_reason(name: str) -> None:
    lines = [(case, line) for case in ALL for line in shown_as(name, case).lines]
    assert [(case, line) for case, line in lines if not line.text or len(line.reason) < 10] == []


@every_format
def test_each_part_is_said_or_left_out_with_the_reason(name: str) -> None:
    """Nothing is dropped in silence. What hands out the GPUs of a cluster stands for their nodes and groups."""
    assert [(case, part) for case, spec in ALL.items() for part in spec.parts if dropped(name, case, part)] == []


def dropped(name: str, case: str, part: Part) -> bool:
    return dropped_from(name, shown_as(name, case), part)


def dropped_from(name: str, shown: Emitted, part: Part) -> bool:
    """Whether a part is neither in a format nor among what it leaves out."""
    if part.kind == "detach" and any(what.startswith("-d: ") for what in shown.left_out):
        return False
    if any(part.reason in line.reason for line in shown.lines) or any(part.value in what for what in shown.left_out):
        return False
    elsewhere = name in ("kubernetes", "kubernetes-job", "apptainer", "slurm", "enroot")
    return not (elsewhere and part.kind in GPU_KINDS and not beside_gpus(part))


@pytest.mark.parametrize("name", SHELL)
def test_each_option_of_a_shell_line_is_explained(name: str) -> None:
    assert [(case, option) for case in ALL for option in unexplained(shown_as(name, case))] == []


def unexplained(shown: Emitted) -> Iterator[str]:
    """Options before the image; that enroot's three commands name a file and a container needs no reason."""
    said = " ".join(line.text for line in shown.lines)
    for words in (shlex.split(row) for row in shown.text.replace("\\\n", " ").split("&&\n")):
        end = next((n for n, word in enumerate(words) if IMAGE in word), len(words))
        yield from (w for w in words[:end] if w.startswith("--") and w not in ("--name", "--output") and w not in said)


COMPOSE_NAMES = {"image", "command"}


@each("case", CASES)
def test_each_key_of_compose_is_explained(case: str) -> None:
    shown = shown_as("compose", case)
    (service,) = yaml.safe_load(shown.text)["services"].values()
    for path in keys({k: v for k, v in service.items() if k not in COMPOSE_NAMES} or {"image": ""}):
        if path[0] in COMPOSE_NAMES:
            continue
        assert any(line.text.startswith(".".join(path[:4] if path[0] == "deploy" else path)) for line in shown.lines), (
            path
        )


KUBERNETES_NAMES = {
    *("apiVersion", "kind", "metadata", "name", "image", "args", "value"),
    *("medium", "sizeLimit", "path", "mountPath"),
}
STANDS_FOR = {"type": "seccompProfile", "add": "capabilities", "readOnly": "hostPath", "runAsGroup": "runAsUser"}


@each("name", ["kubernetes", "kubernetes-job"])
@each("case", ALL)
def test_each_key_of_a_pod_is_explained(name: str, case: str) -> None:
    shown = shown_as(name, case)
    said = " ".join(line.text for line in shown.lines)
    for path in keys(yaml.safe_load(shown.text)):
        if path[-1] not in KUBERNETES_NAMES and path[0] != "metadata":
            assert STANDS_FOR.get(path[-1], path[-1]) in said, path


@pytest.mark.parametrize(
    ("name", "case", "version"),
    [
        ("kubernetes", "amd nodes, workload", "1.34"),
        ("kubernetes", "nvidia mig", "1.34"),
        ("kubernetes", "none", "1.30"),
        ("kubernetes", "amd wsl, asked", "1.34"),
        ("kubernetes-job", "nvidia elsewhere, asked", "1.34"),
        ("kubernetes-job", "amd nodes, asked", "1.30"),
    ],
)
def test_kubernetes_takes_it(name: str, case: str, version: str) -> None:
    kubernetes_validate.validate(yaml.safe_load(shown_as(name, case).text), version, strict=True)


def test_kubernetes_own_validator_refuses_what_is_no_pod() -> None:
    table = yaml.safe_load(emit("kubernetes", CASES["amd nodes"]).text)
    table["spec"]["containers"][0]["gpus"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(table, "1.34", strict=True)


@cache
def compose_schema() -> Draft202012Validator:
    text = resources.files("check_jsonschema.builtin_schemas.vendor").joinpath("compose-spec.json").read_text()
    return Draft202012Validator(json.loads(text))


@each("case", ALL)
def test_compose_by_its_schema(case: str) -> None:
    table = yaml.safe_load(shown_as("compose", case).text)
    assert [error.message for error in compose_schema().iter_errors(table)] == []


def test_compose_s_schema_refuses_what_is_no_service() -> None:
    assert not compose_schema().is_valid({"services": {"a": {"image": "b", "gpu": "all"}}})


SHELLCHECK = Path(sys.executable).with_name("shellcheck")


@pytest.mark.parametrize("name", [*SHELL, "slurm"])
def test_shellcheck_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    paths = []
    for number, case in enumerate([*CASES.values(), *ASKED.values()]):
        paths.append(tmp_path / f"{number}.sh")
        text = emit(name, case).text
        paths[-1].write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}")
    done = subprocess.run([SHELLCHECK, *paths], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_a_format_can_not_say_is_in_the_file_too() -> None:
    shown = emit("kubernetes", CASES["amd nodes, workload"])
    assert "# Left out: which GPUs (0, 2): the device plugin chooses" in shown.text
    assert "# Left out: memlock=-1 has no field of a Pod" in shown.text
    assert "# Left out: /dev/infiniband/uverbs0: a device plugin of its own" in shown.text


def test_apptainer_is_told_which_gpus_in_rocm_s_own_order() -> None:
    assert "APPTAINERENV_ROCR_VISIBLE_DEVICES=0,2 " in emit("apptainer", CASES["amd nodes"]).text
    assert "APPTAINERENV_CUDA_VISIBLE_DEVICES=GPU-1f2e " in emit("apptainer", CASES["nvidia nodes"]).text
    assert "APPTAINERENV_ROCR_VISIBLE_DEVICES=3,5 " in emit("apptainer", CASES["amd partition"]).text
    nameless = _with(CASES["amd partition"], selectors=())
    assert any("which GPUs (0:3, 0:5)" in what for what in emit("apptainer", nameless).left_out)


def test_mixed_names_of_a_device_plugin_are_asked_for_by_their_own() -> None:
    def limits(spec: Spec) -> dict[str, int]:
        return yaml.safe_load(emit("kubernetes", spec).text)["spec"]["containers"][0]["resources"]["limits"]  # type: ignore[no-any-return]

    mig = CASES["nvidia mig"]
    assert limits(mig) == {"nvidia.com/gpu": 1}
    assert any("(nvidia.com/mig-3g.40gb)" in what for what in emit("kubernetes", mig).left_out)
    assert limits(_with(mig, mixed=True)) == {"nvidia.com/mig-3g.40gb": 1}
    with pytest.raises(InputError, match="partition mode of a chosen GPU is not known"):
        emit("kubernetes", _with(CASES["amd partition"], mixed=True))


def test_enroot_makes_the_place_of_a_read_only_mount_too() -> None:
    spec = _with(CASES["amd nodes"], parts=(Part("mount", "/a:/b:ro", "asked"), Part("mount", "/c:/d", "asked")))
    assert "--mount /a:/b:ro,rbind,x-create=auto --mount /c:/d " in emit("enroot", spec).text


def test_pyxis_knows_a_file_by_its_first_letter() -> None:
    def image(name: str) -> str:
        return next(w for w in emit("slurm", _with(CASES["amd nodes"], image=name)).text.split() if "-image=" in w)

    assert image("a.sqsh") == "--container-image=./a.sqsh"
    assert image("/data/a.sqsh") == "--container-image=/data/a.sqsh"
    assert image("rocm/pytorch:latest") == "--container-image=rocm/pytorch:latest"


def test_slurm_needs_a_program() -> None:
    assert emit("slurm", _with(CASES["amd nodes"], command=())).text.endswith(" sh\n")  # the image's own
    with pytest.raises(InputError, match="an empty --entrypoint needs a command"):
        emit("slurm", _with(CASES["amd nodes"], command=(), parts=(Part("entrypoint", "", "none"),)))


def _with(spec: Spec, **changed: Any) -> Spec:
    from dataclasses import replace

    return replace(spec, **changed)
