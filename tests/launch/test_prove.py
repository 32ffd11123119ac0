"""`--prove`: the script tries each layer where it runs, and its rows make the verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.launch.asked import Request
from doctor.launch.by_api import _LISTS, _VALUES, environment, host_config
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.plan import plan
from doctor.launch.prove import (
    _REPLACED,
    FAILED,
    NOT_STARTED,
    PROVEN,
    SCRIPT,
    UNTRIED,
    Proof,
    Tried,
    prove,
    read,
    words,
)
from doctor.launch.spec import Kind, Spec
from doctor.system.base import Output, Reading
from doctor.system.live import LiveSystem
from tests.each import each
from tests.fake_engine import answering, framed
from tests.launch.cases import DOCKER, PODMAN, planned
from tests.launch.machines import h100, mi300x

ROCMINFO = "echo '  Device Type:             CPU'\necho '  Device Type:             GPU'"
SMI = "echo 'GPU 0: NVIDIA H100 (UUID: GPU-1)'"
MIG = f"{SMI}\necho '  MIG 3g.40gb     Device  0: (UUID: MIG-1)'\necho '  MIG 3g.40gb     Device  1: (UUID: MIG-2)'"
TORCH = 'case "$2" in *find_spec*) exit 0;; esac\necho warning >&2\n'
NVML = "Failed to initialize NVML: Unknown Error"
KFD = "Unable to open /dev/kfd read-write"
HIP = "RuntimeError: HIP error: invalid device function"
COREUTILS = ("cut", "tr", "sed", "tail", "grep", "cat")


def tried(folder: Path, vendor: str, wanted: int, nodes: list[str], **programs: str) -> list[tuple[str, str, str]]:
    """What the script says where those programs are, and no other but the usual ones."""
    for name in COREUTILS:
        (folder / name).symlink_to(shutil.which(name) or name)
    for name, body in programs.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    argv = ["/bin/sh", "-c", SCRIPT.replace("/opt/rocm/bin", str(folder)), "sh", vendor, str(wanted), "kernel", *nodes]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True, env={"PATH": str(folder)})
    assert done.stderr == ""
    return [(row.layer, row.state, row.text) for row in read(done.stdout)]


def test_all_layers_work(tmp_path: Path) -> None:
    rows = tried(tmp_path, "nvidia", 1, ["/dev/null"], nvidia_smi=SMI, python3=f"{TORCH}echo torch 2.9 works")
    assert rows == [
        ("node", "ok", "/dev/null opens"),
        ("driver", "ok", "nvidia-smi lists 1 of 1 GPUs"),
        ("kernel", "ok", "torch 2.9 works"),
    ]


def test_a_node_that_is_not_there_and_one_that_does_not_open(tmp_path: Path) -> None:
    rows = tried(tmp_path, "amd", 1, ["/dev/kfd-none", str(tmp_path)], rocminfo=ROCMINFO)
    assert rows[0] == ("node", "failed", "/dev/kfd-none is not in the container")
    assert rows[1][:2] == ("node", "failed")
    assert rows[2] == ("driver", "ok", "rocminfo lists 1 of 1 GPUs")
    assert rows[3] == ("kernel", "not tried", "the image has no Python")


@each(
    "vendor, wanted, programs, state, text",
    [
        ("nvidia", 2, {"nvidia_smi": MIG}, "ok", "nvidia-smi lists 2 of 2 GPUs"),
        ("nvidia", 2, {"nvidia_smi": SMI}, "failed", "nvidia-smi lists 1 of 2 GPUs"),
        ("nvidia", 1, {"nvidia_smi": f"echo {NVML}; exit 255"}, "failed", f"nvidia-smi: {NVML}"),
        ("nvidia", 1, {}, "not tried", "the container has no nvidia-smi"),
        ("amd", 1, {"rocminfo": f"echo {KFD}; exit 1"}, "failed", f"rocminfo: {KFD}"),
    ],
)  # fmt: skip
def test_the_driver_layer(
    tmp_path_factory: pytest.TempPathFactory, vendor: str, wanted: int, programs: dict[str, str], state: str, text: str
) -> None:
    rows = tried(tmp_path_factory.mktemp("bin"), vendor, wanted, [], **programs)
    assert rows[0] == ("driver", state, text)


@each(
    "body, state, text",
    [
        ("exit 1", "not tried", "the image has no torch"),
        (f"{TORCH}echo '{HIP}' >&2; exit 1", "failed", HIP),
    ],
)  # fmt: skip
def test_the_kernel_layer(tmp_path_factory: pytest.TempPathFactory, body: str, state: str, text: str) -> None:
    rows = tried(tmp_path_factory.mktemp("bin"), "nvidia", 1, [], nvidia_smi=SMI, python3=body)
    assert rows[1] == ("kernel", state, text)


def _proof(*states: tuple[str, str]) -> Proof:
    return Proof(tuple(Tried(layer, state, "text") for layer, state in states))  # type: ignore[arg-type]


@each(
    "proof, code, verdict",
    [
        (_proof(("node", "ok"), ("driver", "ok"), ("kernel", "ok")), PROVEN, "Proven"),
        (_proof(("node", "failed"), ("driver", "ok"), ("kernel", "not tried")), FAILED, "The node layer failed"),
        (_proof(("node", "ok"), ("driver", "ok"), ("kernel", "not tried")), UNTRIED, "Nothing failed"),
        (_proof(("node", "ok")), UNTRIED, "Nothing failed; not tried: driver, kernel"),  # the script was cut off
        (Proof(error="no such image"), NOT_STARTED, "Not started: no such image"),
    ],
)  # fmt: skip
def test_the_verdict(proof: Proof, code: int, verdict: str) -> None:
    assert (proof.code, proof.verdict.startswith(verdict)) == (code, True)


def test_the_container_is_the_asked_one_with_the_script_in_place_of_the_command() -> None:
    asked = Request("a", ("serve",), publish=("80:80",), entrypoint="x", detach=True, engine_args=("--restart=always",))
    argv = words(DOCKER, plan(mi300x(), DOCKER, choose(mi300x(), "1"), asked), "name")
    assert argv[: argv.index("a")] == [
        *("docker", "run", "--rm", "--device", "/dev/kfd", "--device", "/dev/dri/renderD129", "--group-add", "992"),
        *("--name", "name", "--entrypoint", "sh"),
    ]
    assert argv[argv.index("a") + 1 : argv.index("a") + 6] == ["-c", SCRIPT, "sh", "amd", "1"]
    assert argv[-2:] == ["/dev/kfd", "/dev/dri/renderD129"]


class Engines:
    """Answers as the engine's program would, and remembers what it was asked."""

    def __init__(self, *answers: Output | None) -> None:
        self.answers, self.asked = list(answers), list[list[str]]()

    def run(self, argv: list[str], **_: object) -> Reading[Output]:
        self.asked.append(list(argv))
        found = self.answers.pop(0)
        return Reading(State.VALUE if found else State.TIMED_OUT, "docker", found)


def _asked(engines: Engines, engine: Engine = PODMAN, *more: str) -> Proof:
    spec = plan(h100(1), engine, choose(h100(1), "0"), Request("a", way="nodes", engine_args=more))
    return prove(engines, engine, spec, {})  # type: ignore[arg-type]


def test_what_the_engine_refuses_is_its_own_line() -> None:
    said = "docker: Error response from daemon: no such device.\n\nRun 'docker run --help' for more information\n"
    engines = Engines(Output(125, "", said, 0.1))  # what only the command line reads goes by it
    proof = _asked(engines, DOCKER, "--userns=host")
    assert proof.verdict == "Not started: docker: Error response from daemon: no such device."
    assert "--userns=host" in engines.asked[0]


def test_a_container_that_does_not_end_is_removed() -> None:
    engines = Engines(None, Output(0, "", "", 0.1))
    assert _asked(engines).code == UNTRIED
    assert engines.asked[1][:3] == ["podman", "rm", "--force"]
    assert engines.asked[1][3] in engines.asked[0]


def test_without_a_gpu_there_is_nothing_to_prove() -> None:
    with pytest.raises(InputError, match="no GPU is passed"):
        prove(Engines(), DOCKER, plan(h100(1), DOCKER, choose(h100(1), "none"), Request("a")), {})  # type: ignore[arg-type]


def answers(**changed: object) -> dict[str, object]:
    """Of an engine whose container printed one good row."""
    return {
        "GET /images/a/json": {"Id": "sha256:a"},
        "POST /containers/create": (201, {"Id": "c1"}),
        "POST /containers/c1/start": 204,
        "POST /containers/c1/wait": {"StatusCode": 0},
        "GET /containers/c1/json": {"Config": {"Tty": False}},
        "GET /containers/c1/logs?stderr=0&stdout=1": framed(1, "doctor-prove\tnode\tok\t/dev/kfd opens\n"),
        "GET /containers/c1/logs?stderr=1&stdout=0": b"",
        "DELETE /containers/c1": 204,
        **changed,
    }


def by_api(folder: Path, spec: Spec, **changed: object) -> tuple[Proof, dict[str, Any], list[str]]:
    """The proof, what the engine was asked to create, and each of its questions."""
    with answering(folder / "s", answers(**changed)) as server:
        proof = prove(Engines(), DOCKER, spec, {"DOCKER_HOST": f"unix://{folder}/s"})  # type: ignore[arg-type]
    sent = next((body for question, body in server.bodies.items() if "create" in question), "{}")
    return proof, json.loads(sent), server.asked


def test_docker_is_asked_by_its_api_for_the_same_container(tmp_path: Path) -> None:
    request = Request(
        "a", user="1000:1000", env=("A=$B\n'\"",), mounts=("/data:/data:ro", "hf:/hf"), workdir="/w", network="none",
        wishes=("numa", "seccomp-unconfined", "ipc-host", "rdma"), publish=("80:80",), name="mine", detach=True,
    )  # fmt: skip
    proof, sent, asked = by_api(tmp_path, plan(mi300x(), DOCKER, choose(mi300x(), "1"), request))
    assert (proof.code, proof.rows) == (UNTRIED, (Tried("node", "ok", "/dev/kfd opens"),))
    host = sent["HostConfig"]
    assert [device["PathInContainer"] for device in host["Devices"]] == ["/dev/kfd", "/dev/dri/renderD129"]
    assert (host["GroupAdd"], host["CapAdd"], host["SecurityOpt"]) == (["992"], ["SYS_NICE"], ["seccomp=unconfined"])
    assert (host["Binds"], host["IpcMode"], host["NetworkMode"]) == (["/data:/data:ro", "hf:/hf"], "host", "none")
    assert host["Ulimits"] == [{"Name": "memlock", "Soft": -1, "Hard": -1}]
    assert (sent["Entrypoint"], sent["Cmd"][:2], sent["Env"]) == (["sh"], ["-c", SCRIPT], ["A=$B\n'\""])
    assert (sent["User"], sent["WorkingDir"]) == ("1000:1000", "/w")
    assert "PortBindings" not in host
    assert asked[-1].startswith("DELETE /containers/c1")


def _variables(path: Path, text: str, *env: str) -> dict[str, str]:
    path.write_text(text)
    spec = plan(mi300x(), DOCKER, choose(mi300x(), "1"), Request("a", env_files=(str(path),), env=env))
    return environment(LiveSystem(), spec, {"HERE": "1", "TOKEN": "t"})


def test_an_env_file_is_read_as_docker_reads_it(tmp_path: Path) -> None:
    """The expected values are those that docker 28 makes of this text."""
    text = '\ufeffA=1\r\nB="x y"\n# C=1\n  D= a b \nHERE\nNOT_THERE\nE-F=1=2\n\n\t#G=1\nH=\nA=2\n'
    found = {"A": "2", "B": '"x y"', "D": " a b ", "HERE": "1", "E-F": "1=2", "H": ""}
    assert _variables(tmp_path / "e", text) == found
    assert _variables(tmp_path / "e", text, "A=3", "TOKEN", "ABSENT") == {**found, "A": "3", "TOKEN": "t"}


@each("line", ["export A=1", "A =1", "=1"])
def test_a_line_that_docker_refuses(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"e, line 2: .* is not the name of a variable"):
        _variables(tmp_path / "e", f"A=1\n{line}\n")


def test_an_env_file_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    spec = plan(mi300x(), DOCKER, choose(mi300x(), "1"), Request("a", env_files=("/no/such.env",)))
    proof = prove(LiveSystem(), DOCKER, spec, {"DOCKER_HOST": f"unix://{tmp_path}/none"})
    assert (proof.code, proof.verdict) == (NOT_STARTED, "Not started: --env-file /no/such.env can't be read (absent)")


@each(
    "case, key, value",
    [
        ("amd cdi", "DeviceRequests", [("cdi", None, ["amd.com/gpu=all"])]),
        ("nvidia gpus", "DeviceRequests", [(None, None, ["1"])]),
        ("nvidia runtime", "Runtime", "nvidia"),
        ("none", "DeviceRequests", None),
    ],
)
def test_the_ways_of_handing_out_gpus(case: str, key: str, value: object) -> None:
    arguments = host_config(planned()[case])
    found = arguments.get("device_requests") if key == "DeviceRequests" else arguments.get(key.lower())
    if isinstance(found, list):
        found = [(one.get("driver"), one.get("count"), one.get("device_ids")) for one in found]
    assert found == value


def test_every_kind_of_part_has_its_place() -> None:
    """So that a new kind can't be lost between the plan and its proof."""
    written = {"device", "cdi", "gpus", "shm", "ulimit", "privileged", "env", "user", "workdir", "network"}
    placed = {*written, *_LISTS, *_VALUES, *_REPLACED, "pass_env", "env_file", "engine_arg"}
    assert placed == set(get_args(Kind))


@each(
    "question, status, verdict",
    [
        ("POST /containers/c1/start", 500, "Not started: docker: no such device"),
        ("POST /containers/create", 409, "Not started: docker: no such device"),
        ("POST /images/create", 404, "Not started: a: no such device"),
    ],
)
def test_what_the_api_refuses(
    tmp_path_factory: pytest.TempPathFactory, question: str, status: int, verdict: str
) -> None:
    absent = {"GET /images/a/json": (404, {"message": "no"})} if "images" in question else {}
    spec = plan(mi300x(), DOCKER, choose(mi300x(), "1"), Request("a"))
    changed = {question: (status, {"message": "no such device"}), **absent}
    proof, _, asked = by_api(tmp_path_factory.mktemp("s"), spec, **changed)
    assert (proof.code, proof.verdict) == (NOT_STARTED, verdict)
    assert any(q.startswith("DELETE") for q in asked) is ("start" in question)


def test_no_engine_listens(tmp_path: Path) -> None:
    spec = plan(mi300x(), DOCKER, choose(mi300x(), "1"), Request("a"))
    proof = prove(Engines(), DOCKER, spec, {"DOCKER_HOST": f"unix://{tmp_path}/none"})  # type: ignore[arg-type]
    assert (proof.code, proof.verdict.startswith("Not started: docker does not answer")) == (NOT_STARTED, True)


@each(
    "word, kept",
    [("-d", False), ("-itd", False), ("--detach=true", False), ("--restart", False), ("--dns=1.1.1.1", True)],
)
def test_options_that_would_outlive_the_proof_are_left_out(word: str, kept: bool) -> None:
    spec = plan(mi300x(), DOCKER, choose(mi300x(), "1"), Request("a", engine_args=(word,)))
    assert (word in words(DOCKER, spec, "name")) is kept
