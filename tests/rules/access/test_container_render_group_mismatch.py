"""container-render-group-mismatch: the gid of the host is not the image's."""

from __future__ import annotations

from doctor.rules.access import container_engine_no_gpu_support as apart
from doctor.rules.access import container_render_group_mismatch as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told

SHUT = {"account.gids": [1000], "nodes[/dev/kfd].openable": False, "nodes[/dev/kfd].open_error": "EACCES"}


def test_group_number_of_the_host() -> None:
    (finding,) = found(rule, machines.mi300x_container(SHUT))
    assert finding.summary == "gid 109 owns /dev/kfd, but this container's account is not in that group."
    assert finding.subject.id == "/dev/kfd"
    assert (finding.remedies[0].steps[0].command or ())[-3:] == ("--group-add", "109", "IMAGE")


def test_rootless_podman_keeps_its_groups() -> None:
    (finding,) = found(rule, machines.mi300x_container(SHUT | {"container.engine": "podman"}))
    assert (finding.remedies[0].steps[0].command or ())[-3:] == ("--group-add", "keep-groups", "IMAGE")


def test_on_a_host_or_with_the_group() -> None:
    assert told(rule, machines.mi300x_host(SHUT)) == []
    assert told(rule, machines.mi300x_container(SHUT | {"account.gids": [109]})) == []


def test_unknown_owner_or_place() -> None:
    assert (
        told(rule, machines.mi300x_container(SHUT | {"nodes[/dev/kfd].gid": None, "nodes[/dev/kfd].group": None})) == []
    )
    assert told(rule, machines.mi300x_container(SHUT | {"container.inside": None})) == []


def test_a_desktop_engine_has_no_such_node() -> None:
    error = "Unable to open /dev/kfd read-write: No such file or directory"
    run = f"{error}\n$ docker run --device=/dev/kfd --device=/dev/dri --group-add video team/rocm-app"
    for engine, fires in (("Docker Desktop for Linux", False), ("docker", True)):
        text = f"Container:\n```\nrunning inside a container: yes\ncontainer engine: {engine}\n```\n\n```\n{run}\n```\n"
        assert bool(told(rule, read_text([text.encode()]))) is fires


def test_a_desktop_engines_vm_is_named_where_its_node_is_shut() -> None:
    shut = "Unable to open /dev/kfd read-write: Permission denied"
    inside = "Container:\n```\nrunning inside a container: yes\ncontainer engine: {}\n```\n\n```\n{}\n```\n"
    for engine, line, severity in (
        ("Docker Desktop for Linux", shut, ["warning"]),
        ("Docker Desktop for Linux", "the model answers", ["info"]),
        ("docker", shut, []),
    ):
        run = (
            f"```\n$ docker run --device=/dev/kfd --device=/dev/dri rocm/pytorch\n{line}\n```\n\n{engine} is running\n"
        )
        for text in (inside.format(engine, line), run):
            findings = found(apart, read_text([text.encode()]))
            assert [f.severity.value for f in findings] == severity, text
    text = "```\nUnable to open /dev/kfd read-write: Permission denied\n```\n\nDocker Desktop for Linux is running\n"
    assert [f.severity.value for f in found(apart, read_text([text.encode()]))] == ["info"]


def test_a_run_line_is_no_suspect_where_torch_has_its_gpu() -> None:
    run = "$ docker run --device=/dev/kfd --device=/dev/dri --group-add video team/serve\n"
    for says, suspect in (("True", 0), ("Could not collect", 1)):
        collect_env = f"PyTorch version: 2.8.0+rocm6.4\nROCM used to build PyTorch: 6.4.1\nIs CUDA available: {says}\n"
        text = f"Container:\n```\nrunning inside a container: yes\n{run}```\n\n```\n{collect_env}```\n"
        (finding,) = found(rule, read_text([text.encode()]))
        assert finding.suspect == suspect


def test_an_image_that_runs_as_root_is_no_suspect() -> None:
    for image, suspects in (("rocm/pytorch:latest", []), ("-u 1000 rocm/vllm:latest", [1]), ("team/rocm-app:2", [1])):
        run = f"$ docker run --device=/dev/kfd --device=/dev/dri {image}"
        text = f"Container:\n```\nrunning inside a container: yes\n{run}\n```\n"
        assert [finding.suspect for finding in found(rule, read_text([text.encode()]))] == suspects
