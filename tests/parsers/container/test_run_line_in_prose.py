"""A run line quoted in a sentence ends where its quote ends, and alone accuses nobody."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.knowledge import Knowledge
from doctor.parsers.container import docker_run_line
from doctor.rules.access import container_missing_gpu_passthrough
from doctor.triage.read import read_text


def found(text: str) -> list[str]:
    machine = read_text([text.encode()])
    return [f.summary for f in container_missing_gpu_passthrough.check(machine, Knowledge(), None)]


def test_the_words_after_the_quote_are_no_arguments() -> None:
    sheet = docker_run_line.read("with `singularity exec tools.sif jupyter lab --ip=0.0.0.0` I get the wrong kernel")
    assert sheet.get("container.run_args") == ["tools.sif", "jupyter", "lab", "--ip=0.0.0.0"]


def test_a_line_that_ends_with_the_command_has_no_arguments() -> None:
    sheet = docker_run_line.read("FATAL: hipErrorNoDevice in singularity shell")
    assert sheet.get("container.run_args") == []
    assert sheet.get("container.engine") == "apptainer"


def test_a_command_in_backticks_inside_the_line_does_not_end_it() -> None:
    sheet = docker_run_line.read("docker run --user `id -u` --gpus all img")
    assert "--gpus" in (sheet.get("container.run_args") or [])


def test_a_container_without_a_gpu_in_which_torch_sees_none() -> None:
    assert found("docker run --rm img python t.py\n>>> torch.cuda.is_available()\nFalse\n")


def test_keys_of_a_compose_file_stand_for_options() -> None:
    sheet = docker_run_line.read("docker run acme/serve:2 (shm_size: 8gb, runtime: nvidia)")
    assert sheet.get("container.run_args") == ["acme/serve:2", "--shm-size=8gb", "--runtime=nvidia"]


@pytest.mark.parametrize(
    ("said", "option"),
    [
        ("runtime nvidia, NVIDIA_VISIBLE_DEVICES=all", "--runtime=nvidia"),
        ("compose file, gpus all", "--gpus=all"),
        ("pod spec, ipc host", "--ipc=host"),
        ("shm-size 8g; two GPUs", "--shm-size=8g"),
    ],
)
def test_names_of_options_without_their_dashes_stand_for_them(said: str, option: str) -> None:
    assert option in (docker_run_line.read(f"$ docker run {said}").get("container.run_args") or [])


@pytest.mark.parametrize(
    "said", ["img runtime errors", "img gpus are there", "img --gpus all", "without runtime nvidia"]
)
def test_the_same_names_before_other_words_stay_words(said: str) -> None:
    args = docker_run_line.read(f"$ docker run {said}").get("container.run_args") or []
    assert not any(arg.startswith(("--runtime=", "--gpus=")) for arg in args)


def test_other_words_that_end_in_a_colon_stay() -> None:
    assert docker_run_line.read("docker run -d note: x").get("container.run_args") == ["-d", "note:", "x"]


def test_what_a_person_says_of_a_command_that_works_is_no_run_line() -> None:
    for rest in ("uses the GPU", "works", "sees all GPUs"):
        text = f"docker run -e HSA_OVERRIDE_GFX_VERSION=11.0.0 ollama/ollama:rocm {rest}"
        with pytest.raises(ParserError):
            docker_run_line.read(text)
        assert docker_run_line.read(f"$ {text}").get("container.run_args") is not None
    assert docker_run_line.read("docker run ollama/ollama:rocm sees no GPU").get("container.image") is not None


def test_a_line_that_names_the_engine_is_surer_than_how_the_command_is_written() -> None:
    for engine, read in (("podman 5.0 (rootless)", "podman"), ("docker 27", "docker"), ("singularity", "apptainer")):
        said = f"running inside a container: yes\ncontainer engine: {engine}\n$ docker run --rm ubuntu nvidia-smi\n"
        machine = read_text([f"Container:\n```\n{said}```\n".encode()])
        assert machine.container.engine == read
        assert machine.container.run_args == ("--rm", "ubuntu", "nvidia-smi")
