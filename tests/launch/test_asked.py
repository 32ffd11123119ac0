"""What people add to a GPU container: ports, volumes, names, variables. Each format says it, or that it does not."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from doctor.errors import InputError
from doctor.launch import formats
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.formats import emit
from doctor.launch.plan import plan
from doctor.launch.spec import Spec
from tests.each import each
from tests.launch.cases import DOCKER
from tests.launch.machines import h100, mi300x
from tests.launch.test_formats import compose_schema, dropped_from

IMAGE = "vllm/vllm-openai:v0.11.0"
MODEL = ("--model", "Qwen/Qwen3-0.6B")
NODES = ("/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm")


def spec(**asked: Any) -> Spec:
    machine = h100(1)
    return plan(machine, DOCKER, choose(machine, "all"), Request(IMAGE, MODEL, way="nodes", **asked))


SERVER = spec(publish=("8000:8000",), mounts=("hf:/root/.cache/huggingface",), env=("HF_TOKEN",))
CASES = {
    "server": SERVER,
    "everything": spec(
        publish=("127.0.0.1:8080:8000/tcp", "53:53/udp", "9000"),
        network="gpu-net",
        name="llm_1",
        workdir="/work",
        detach=True,
        entrypoint="/usr/bin/vllm",
        env_files=("/etc/llm.env",),
        env=("HF_TOKEN", "A=b"),
        mounts=("hf:/root/.cache/huggingface:ro", "/data:/data:ro,z"),
        engine_args=("--restart=unless-stopped", "--init"),
    ),
    "host network": spec(network="host"),
    "no network": spec(network="none"),
    "no entrypoint": spec(entrypoint=""),
    "rdma": spec(wishes=("rdma",), rdma_nodes=NODES),
}


def line(name: str, case: str | Spec) -> list[str]:
    shown = emit(name, CASES[case] if isinstance(case, str) else case)
    return shlex.split(shown.text.replace("\\\n", " "), comments=True)


@each("name", formats.names())
@each("case", CASES)
def test_each_option_is_said_or_left_out(name: str, case: str) -> None:
    assert [part for part in CASES[case].parts if dropped_from(name, emit(name, CASES[case]), part)] == []


def test_docker_gets_a_server_s_options() -> None:
    words = line("docker", "server")
    for pair in (["--publish", "8000:8000"], ["--volume", "hf:/root/.cache/huggingface"], ["--env", "HF_TOKEN"]):
        assert words[words.index(pair[1]) - 1 : words.index(pair[1]) + 1] == pair
    assert words[words.index(IMAGE) :] == [IMAGE, *MODEL]
    assert "--rm" in words


def test_what_runs_in_the_background_keeps_its_log() -> None:
    words = line("docker", spec(detach=True))
    assert "--detach" in words
    assert "--rm" not in words


def test_a_restart_policy_is_not_beside_rm() -> None:
    assert "--rm" not in line("podman", spec(engine_args=("--restart=always",)))
    assert "--rm" in line("podman", spec(engine_args=("--init",)))


def test_compose_uses_the_volume_that_docker_would() -> None:
    table = yaml.safe_load(emit("compose", SERVER).text)
    (service,) = table["services"].values()
    assert table["volumes"] == {"hf": {"name": "hf"}}
    assert (service["ports"], service["environment"]) == (["8000:8000"], {"HF_TOKEN": None})


@each("case", CASES)
def test_compose_by_its_schema(case: str) -> None:
    table = yaml.safe_load(emit("compose", CASES[case]).text)
    assert [error.message for error in compose_schema().iter_errors(table)] == []


def test_kubernetes_gets_a_deployment_and_the_service_that_leads_to_it() -> None:
    shown = emit("kubernetes", SERVER)
    deployment, service = yaml.safe_load_all(shown.text)
    template = deployment["spec"]["template"]
    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert service["spec"]["ports"] == [{"name": "tcp-8000", "port": 8000, "targetPort": 8000}]
    (container,) = template["spec"]["containers"]
    secret = container["env"][0]["valueFrom"]["secretKeyRef"]
    assert f'kubectl create secret generic {secret["name"]} --from-literal=HF_TOKEN="$HF_TOKEN"' in shown.text
    assert template["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "hf"}


def test_without_ports_it_is_a_pod() -> None:
    assert yaml.safe_load(emit("kubernetes", CASES["host network"]).text)["kind"] == "Pod"


@each("name", ["kubernetes", "kubernetes-job"])
@each("case", CASES)
def test_kubernetes_takes_each_document(name: str, case: str) -> None:
    for table in yaml.safe_load_all(emit(name, CASES[case]).text):
        kubernetes_validate.validate(table, "1.34", strict=True)


def test_an_empty_entrypoint_is_the_command_in_kubernetes() -> None:
    (container,) = yaml.safe_load(emit("kubernetes", CASES["no entrypoint"]).text)["spec"]["containers"]
    assert (container["command"], "args" in container) == (list(MODEL), False)


@pytest.mark.parametrize(
    ("name", "case", "end"),
    [
        ("apptainer", "server", ["run", f"docker://{IMAGE}", *MODEL]),
        ("apptainer", "everything", ["exec", f"docker://{IMAGE}", "/usr/bin/vllm", *MODEL]),
        ("slurm", "server", ["--container-writable", "--", "sh", "-c", *MODEL]),
        ("slurm", "everything", ["--container-workdir=/work", "--", "/usr/bin/vllm", *MODEL]),
    ],
)
def test_the_image_s_own_program_is_started_as_docker_would(name: str, case: str, end: list[str]) -> None:
    words = line(name, case)
    assert [word for word in end if word in words] == end
    assert words[-len(MODEL) :] == list(MODEL)
    assert ("--container-writable" in words) == ("--container-writable" in end)


@each("workdir", [None, "/a folder", "/data"])
def test_in_slurm_the_image_s_program_gets_the_command_in_the_folder(workdir: str | None, tmp_path: Path) -> None:
    """/etc/rc is as enroot writes it, /etc/rc.local as pyxis leaves it; seen with pyxis 0.24 and enroot 4.1.2."""
    (tmp_path / "rc.local").write_text('exec "$@"\n')
    rc = f'cd() {{ echo "in $1"; }}\ncd /image\n. {tmp_path}/rc.local\nexec printf "%s\\n" own "$@"\n'
    (tmp_path / "rc").write_text(rc)
    words = line("slurm", spec(workdir=workdir))
    words = [word.replace("/etc", str(tmp_path)) for word in words[words.index("--") + 1 :]]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, timeout=10).stdout
    folders = ["/image", *([workdir] if workdir else [])]
    assert shown.splitlines() == [*(f"in {folder}" for folder in folders), "own", *MODEL]


def test_slurm_takes_the_token_of_the_job() -> None:
    assert any(word.startswith("--container-env=") and word.endswith("HF_TOKEN") for word in line("slurm", "server"))


@each("name", ["slurm", "enroot", "apptainer"])
def test_what_shares_the_host_s_network_says_so_of_ports_and_volumes(name: str) -> None:
    said = " ".join(emit(name, SERVER).left_out)
    assert "-p 8000:8000: the " in said
    assert "-v hf:/root/.cache/huggingface: there are no named volumes" in said


def test_rdma_brings_the_host_s_network() -> None:
    words = line("docker", "rdma")
    assert words[words.index("--network") + 1] == "host"
    (container,) = yaml.safe_load(emit("kubernetes", CASES["rdma"]).text)["spec"]["containers"]
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]


def test_rdma_in_another_network_is_a_note() -> None:
    asked = spec(wishes=("rdma",), rdma_nodes=NODES, network="gpu-net")
    assert [(t.fatal, "RoCE" in t.text) for t in asked.troubles if "--network" in t.text] == [(False, True)]
    assert asked.one("network") == "gpu-net"


def test_ports_beside_the_host_s_network_are_a_note() -> None:
    assert any("-p does nothing with --network host" in t.text for t in spec(network="host", publish=("80",)).troubles)
    assert not any("-p does nothing" in t.text for t in SERVER.troubles)


def test_a_relative_mount_is_of_the_folder_that_it_was_asked_in() -> None:
    asked = spec(mounts=("./src:/src", "..:/up", ".:/here"), cwd="/home/me/work")
    assert [p.value for p in asked.of("mount")] == ["/home/me/work/src:/src", "/home/me:/up", "/home/me/work:/here"]


def test_an_env_file_is_found_from_the_same_folder() -> None:
    assert spec(env_files=(".env",), cwd="/home/me").one("env_file") == "/home/me/.env"


@pytest.mark.parametrize(
    "asked",
    [
        {"publish": ("-p",)},
        {"publish": ("0:80",)},
        {"publish": ("80:70000",)},
        {"publish": ("300.1.1.1:80:80",)},
        {"publish": ("80/sctp",)},
        {"network": "-host"},
        {"network": "a b"},
        {"name": "-x"},
        {"name": "a/b"},
        {"workdir": "work"},
        {"workdir": "-w"},
        {"entrypoint": "-c"},
        {"entrypoint": "a\nb"},
        {"env_files": ("-f",)},
        {"env": ("-A",)},
        {"mounts": ("-v:/a",)},
        {"engine_args": ("always",)},
        {"engine_args": ("--",)},
        {"engine_args": ("--a\nb",)},
    ],
    ids=str,
)
def test_what_no_engine_could_take_is_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        spec(cwd=str(tmp_path), **asked)


@each(
    "asked, said",
    [
        ({"mounts": ("/a:/b", "/c:/b/")}, "two mounts for /b in the container"),
        ({"mounts": ("/a:/b", "hf:/b")}, "two mounts for /b in the container"),
        ({"publish": ("80:80", "80:81")}, "port 80/tcp of the host is published twice"),
        ({"publish": ("80:80", "127.0.0.1:80:81")}, "port 80/tcp of the host is published twice"),
        ({"user": "4294967295"}, "the highest UID and GID is 4294967294"),
    ],
)
def test_what_contradicts_itself(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(mi300x(), DOCKER, choose(mi300x(), "0"), Request("a", **asked))


@each(
    "asked",
    [
        {"mounts": ("/a:/b", "/a:/c")},
        {"mounts": ("/a:/b", "/a:/b")},  # said twice
        {"publish": ("80:80", "80:80/udp", "8080")},
        {"publish": ("127.0.0.1:80:80", "10.0.0.1:80:80")},
        {"user": "4294967294:0"},
    ],
)
def test_what_does_not(asked: dict[str, Any]) -> None:
    assert plan(mi300x(), DOCKER, choose(mi300x(), "0"), Request("a", **asked)).image == "a"


def test_a_mount_of_its_own_takes_the_place_of_shm() -> None:
    spec = plan(mi300x(), DOCKER, choose(mi300x(), "all"), Request("a", mounts=("/fast:/dev/shm",)))
    assert (spec.one("shm"), spec.one("mount")) == (None, "/fast:/dev/shm")


def test_ports_in_another_container_s_network_stop_it() -> None:
    request = Request("a", network="container:web", publish=("80:80",))
    (trouble,) = plan(mi300x(), DOCKER, choose(mi300x(), "0"), request).troubles
    assert (trouble.fatal, trouble.text.startswith("-p and --network container:web exclude")) == (True, True)


@each(
    "asked, said",
    [
        ({"publish": ("80:1", "80")}, "a Service can't have port tcp-80 twice"),
        ({"publish": ("127.0.0.1:80:1", "10.0.0.1:80:2")}, "a Service can't have port tcp-80 twice"),
        ({"user": "3000000000"}, "the highest UID and GID of a Pod is 2147483647"),
    ],
)
def test_what_a_cluster_does_not_take(asked: dict[str, Any], said: str) -> None:
    spec = plan(mi300x(), None, choose(mi300x(), "0"), Request("a", **asked))
    with pytest.raises(InputError, match=said):
        emit("kubernetes", spec)
