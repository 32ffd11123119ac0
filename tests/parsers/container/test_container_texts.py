"""Readers of what users paste of containers, limits, services and of what is set for one command."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.facts import FactSheet
from doctor.parsers.container import container_config, container_manifest, docker_run_line
from doctor.parsers.kernel import id_command, limits, ls_dev, service_unit
from doctor.parsers.text import env_lines
from doctor.triage.read import read_text
from tests.each import each

COMPOSE = """\
services:
  ollama:
    image: ollama/ollama:rocm  # the server
    devices:
      - "/dev/kfd:/dev/kfd"
      - /dev/dri:/dev/dri
    group_add: [video, "992"]
    shm_size: 8gb
    user: "1000:1000"
    security_opt:
      - seccomp=unconfined
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              capabilities: [gpu]
"""
POD = """\
apiVersion: v1
kind: Pod
spec:
  runtimeClassName: nvidia
  securityContext:
    supplementalGroups: [109]
  containers:
    - image: vllm/vllm-openai
      resources:
        limits:
          nvidia.com/gpu: 1
"""


def values(sheet: FactSheet) -> dict[str, object]:
    return {entry.name: entry.value for entry in sheet}


def test_compose_as_the_engine_would_be_asked() -> None:
    assert values(container_manifest.read(COMPOSE)) == {
        "container.run_args": [
            *("-d", "--device=/dev/kfd:/dev/kfd", "--device=/dev/dri:/dev/dri", "--group-add=video", "--group-add=992"),
            *("--shm-size=8gb", "--user=1000:1000", "--security-opt=seccomp=unconfined", "--gpus=all"),
        ],
        "container.image": "ollama/ollama:rocm",
    }


def test_a_pod() -> None:
    sheet = container_manifest.read(POD)
    assert sheet.get("container.engine") == "kubernetes"
    assert sheet.get("container.run_args") == ["-d", "--runtime=nvidia", "--group-add=109", "--gpus=nvidia.com/gpu=1"]


def test_what_the_device_plugin_shares_is_asked_of_no_engine() -> None:
    shared = "resources:\n    - name: nvidia.com/gpu\n      replicas: 16\n"
    with pytest.raises(ParserError):
        container_manifest.read(f"sharing:\n  mps:\n    {shared}")
    assert container_manifest.read(f"containers:\n  {shared}").get("container.run_args") == ["-d"]


def test_a_change_of_the_toolkit_is_no_version() -> None:
    with pytest.raises(ParserError):
        container_config.read("fails since nvidia-container-toolkit 1.18.0 was upgraded from 1.17.8")


@each(
    "text",
    [
        *("", "image: x", "user: someone", "Operating System: Ubuntu\nruntime error: x", "- item"),
        *("resources: gpu: l4, 2 of them", "resources:\n  gpu: 24GB\n  disk: 100GB", "containers: 3 of them run"),
        "name: train\nresources:\n  accelerators: L4:1\nsetup: pip install torch",
    ],
)
def test_what_is_no_manifest(text: str) -> None:
    with pytest.raises(ParserError):
        container_manifest.read(text)


@each("text, facts", [
        ("no-cgroups = true", {"container.no_cgroups": True}),
        ("#no-cgroups = true", {"container.no_cgroups": False}),
        (" Runtimes: nvidia runc\n Default Runtime: runc", {"container.runtimes": ["nvidia", "runc"], "container.default_runtime": "runc"}),  # noqa: E501
        ('{\n  "runtimes": {\n    "nvidia": {\n      "path": "x"\n    }\n  }\n}', {"container.runtimes": ["runc", "nvidia"], "container.default_runtime": "runc"}),  # noqa: E501
        ('{\n  "default-runtime": "nvidia",\n  "dns": []\n}', {"container.runtimes": ["runc"], "container.default_runtime": "nvidia"}),  # noqa: E501
        ('{\n  "log-driver": "json-file"\n}\nafter it', {"container.runtimes": ["runc"], "container.default_runtime": "runc"}),  # noqa: E501
        ("NVIDIA Container Toolkit CLI version 1.14.3", {"container.toolkit_version": "1.14.3"}),
        ("cli-version: 1.9.0", {"container.toolkit_version": "1.9.0"}),
        ("nvidia-container-toolkit 1.11.0, driver 570.86.15", {"container.toolkit_version": "1.11.0"}),
        (" Cgroup Driver: systemd", {"container.cgroup_driver": "systemd"}),
        (" Context:    desktop-linux", {"container.engine_text": "docker desktop"}),
        ("Docker Root Dir: /var/snap/docker/common", {"container.engine_text": "docker snap"}),
        ("docker.dockerd  enabled  active  -", {"container.engine_text": "docker snap"}),
        ("/etc/cdi/nvidia.yaml: hostPath: /usr/lib64/libcuda.so.545.29.06", {"container.cdi_driver": "545.29.06"}),
        ('default_runtime_name = "runc"', {"container.default_runtime": "runc"}),
    ])  # fmt: skip
def test_settings_of_engines(text: str, facts: dict[str, object]) -> None:
    assert values(container_config.read(text)) == facts


def test_settings_that_are_none() -> None:
    with pytest.raises(ParserError):
        container_config.read('{"name": "x"}\nthe cgroups of the host')


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("max locked memory       (kbytes, -l) 64", {"host.memlock_bytes": 65536}),
        ("max locked memory           (kbytes, -l) unlimited", {"host.memlock_bytes": -1}),
        ("RLIMIT_MEMLOCK 65536", {"host.memlock_bytes": 65536}),
        ("open files                      (-n) 1024", {"host.nofile": 1024}),
        ("WARNING: The file descriptor limit is too low: 1024. It is recommended", {"host.nofile": 1024}),
        ("shm              64M   64M     0 100% /dev/shm", {"container.inside": True, "host.shm_bytes": 64 << 20}),
        ("/dev/shm size: 16 GB", {"host.shm_bytes": 16 << 30}),
    ],
)
def test_limits(text: str, facts: dict[str, object]) -> None:
    assert values(limits.read(text)) == facts


def test_what_a_service_was_given() -> None:
    unit = "[Service]\nExecStart=/usr/bin/ollama serve\nUser=ollama"
    assert service_unit.read(unit).get("service_environment") == {}
    drop_in = '[Service]\nEnvironment="HSA_OVERRIDE_GFX_VERSION=10.3.0"'
    assert service_unit.read(drop_in).get("service_environment") == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    logged = (
        'msg="server config" env="map[CUDA_VISIBLE_DEVICES: HSA_OVERRIDE_GFX_VERSION:11.0.0 OLLAMA_HOST:http://x:1]"'
    )
    assert values(service_unit.read(logged)) == {
        "service_environment": {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "OLLAMA_HOST": "http://x:1"},
        "environment[HSA_OVERRIDE_GFX_VERSION]": "11.0.0",
    }
    with pytest.raises(ParserError):
        service_unit.read("[Service] is a section")


@each(
    "text, facts",
    [
        ("HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py", {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}),
        ("A_FLAG=1 B_FLAG=2 ./run.sh", {"A_FLAG": "1", "B_FLAG": "2"}),
        ("export A_FLAG=1; export B_FLAG=2", {"A_FLAG": "1", "B_FLAG": "2"}),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '7'", {"CUDA_VISIBLE_DEVICES": "7"}),
        ('os.environ.setdefault("NCCL_P2P_DISABLE", "1")', {"NCCL_P2P_DISABLE": "1"}),
        ("LESSOPEN=| /usr/bin/lesspipe %s", {"LESSOPEN": "| /usr/bin/lesspipe %s"}),
        ("`HSA_OVERRIDE_GFX_VERSION=11.0.0` is still needed", {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}),
        ("NVIDIA_REQUIRE_CUDA=cuda>=12.0 brand=tesla", {"NVIDIA_REQUIRE_CUDA": "cuda>=12.0 brand=tesla"}),
    ],
)
def test_what_is_set_for_one_command(text: str, facts: dict[str, str]) -> None:
    assert values(env_lines.read(text)) == {f"environment[{name}]": value for name, value in facts.items()}


def test_run_lines() -> None:
    sheet = docker_run_line.read("docker run -it --rm image (without --gpus all)")
    assert sheet.get("container.run_args") == ["-it", "--rm", "image"]
    sheet = docker_run_line.read("$ apptainer exec --nv image.sif python x.py")
    assert (sheet.get("container.engine"), sheet.get("container.run_args")[0]) == ("apptainer", "--nv")


def test_nodes_without_a_date_and_with_an_access_list() -> None:
    sheet = ls_dev.read(
        "crw-rw---- 1 root render 234, 0 /dev/kfd\ncrw-rw----+ 1 root render 226, 128 Sep 2 15:45 /dev/dri/renderD128"
    )
    assert sheet.get("nodes[/dev/kfd].mode") == 0o660
    assert sheet.get("nodes[/dev/dri/renderD128].group") == "render"
    assert sheet.get("nodes[/dev/dri/renderD128].mode") is None


def test_groups_of_an_account() -> None:
    sheet = id_command.read("id ollama: uid=998(ollama) gid=998(ollama) groups=998(ollama)")
    assert (sheet.get("account.uid"), sheet.get("account.gids")) == (998, [998])
    assert id_command.read_group_line("groups: rocm-user sudo video").get("account.member_of") == [
        "rocm-user",
        "sudo",
        "video",
    ]
    with pytest.raises(ParserError):
        id_command.read_group_line("groups: The Beatles")


def test_the_nvidia_docker_wrapper_passes_the_gpus() -> None:
    sheet = docker_run_line.read("$ sudo nvidia-docker run --rm nvidia/cuda:11.8.0-base-ubuntu22.04 nvidia-smi")
    assert (sheet.get("container.run_args") or [])[:2] == ["--runtime=nvidia", "--rm"]
    plain = docker_run_line.read("$ sudo docker run --rm nvidia/cuda:11.8.0-base-ubuntu22.04 nvidia-smi")
    assert (plain.get("container.run_args") or [])[0] == "--rm"


def test_the_prompt_of_an_older_singularity_is_inside() -> None:
    sheet = docker_run_line.read("Singularity relion.sif:~/data> nvidia-smi\nbash: nvidia-smi: command not found")
    assert sheet.get("container.inside") is True
    with pytest.raises(ParserError):
        docker_run_line.read("Singularity is at version 3.8 -> too old")


def test_images_of_apptainer_before_a_program() -> None:
    for line in ("apptainer exec --nv tools.sif python x.py", "$ singularity shell tools.sif\nSingularity> ls"):
        assert read_text([line.encode()]).container.image == "tools.sif"


def test_what_the_engine_s_errors_end_with_is_no_run_line() -> None:
    foot = "docker: Error response from daemon: manifest unknown.\n{}\n\n$ docker run --gpus all acme/app:1\n"
    for said in ("See 'docker run --help'.", "Run 'docker run --help' for more information"):
        assert values(docker_run_line.read(foot.format(said)))["container.run_args"] == ["--gpus", "all", "acme/app:1"]
    with pytest.raises(ParserError):
        docker_run_line.read("See 'docker run --help'.\n")


@pytest.mark.parametrize(
    ("text", "args"),
    [
        (
            "services:\n  a:\n    image: acme/a:1\n    deploy: {resources: {reservations: {devices: "
            "[{driver: nvidia, count: 1, capabilities: [gpu]}]}}}\n",
            ["-d", "--gpus=all"],
        ),
        (
            "services:\n  a:\n    deploy:\n      resources:\n        reservations:\n          devices:\n"
            "            - {driver: nvidia, count: all, capabilities: [gpu, utility]}\n",
            ["-d", "--gpus=all"],
        ),
        ("containers:\n- name: a\n  resources: {limits: {nvidia.com/gpu: 2}}\n", ["-d", "--gpus=nvidia.com/gpu=2"]),
        ("services:\n  a:\n    deploy: {resources: {limits: {memory: 4G}}}\n", ["-d"]),
    ],
)
def test_mappings_on_one_line(text: str, args: list[str]) -> None:
    assert values(container_manifest.read(text))["container.run_args"] == args


def test_of_what_is_mounted_shared_memory_counts() -> None:
    pod = "containers:\n- name: a\n  volumeMounts:\n    - mountPath: /models\n    - mountPath: /dev/shm\n"
    assert values(container_manifest.read(pod))["container.run_args"] == ["-d", "--mount=target=/dev/shm"]
    service = "services:\n  a:\n    volumes:\n      - models:/models\n      - /dev/shm:/dev/shm\n"
    assert values(container_manifest.read(service))["container.run_args"] == ["-d", "--volume=/dev/shm:/dev/shm"]


EXTENDS = (
    "services:\n  ml:\n    image: example.org/ml:1\n    extends:\n      file: hwaccel.yml\n      service: cuda\n{}"
)


@pytest.mark.parametrize(
    ("more", "args"),
    [("", None), ("    runtime: nvidia\n", ["-d", "--runtime=nvidia"])],
)
def test_what_another_compose_file_may_ask_for_is_not_known(more: str, args: list[str] | None) -> None:
    sheet = container_manifest.read(EXTENDS.format(more))
    assert (sheet.get("container.run_args"), sheet.get("container.image")) == (args, "example.org/ml:1")


@pytest.mark.parametrize(
    ("line", "mode", "owner"),
    [
        ("/dev/dri/renderD128 is root:991 rw-rw----", 0o660, 991),
        ("/dev/nvidia0 is root:nvidia0 with mode 660", 0o660, "nvidia0"),
        ("on the node /dev/kfd is owned by root:render, crw-rw-rw-", 0o666, "render"),
        ("/dev/kfd root:render 0660", 0o660, "render"),
        ("/dev/nvidia0: crw-rw---- root:video", 0o660, "video"),
        ("/dev/kfd = crw-rw---- 1 root 992", 0o660, 992),
    ],
)
def test_owner_and_mode_of_a_node_as_people_state_them(line: str, mode: int, owner: int | str) -> None:
    sheet = ls_dev.read(line)
    node = f"nodes[{line[line.index('/dev/') :].split()[0].rstrip(':')}]"
    assert sheet.get(f"{node}.mode") == mode
    assert owner in (sheet.get(f"{node}.gid"), sheet.get(f"{node}.group"))


def test_an_owner_without_a_mode_is_no_listing() -> None:
    with pytest.raises(ParserError):
        ls_dev.read("/dev/kfd is root:render, as it should be")


@pytest.mark.parametrize("engine", ["bubblewrap", "firejail 0.9", "runc 1.2, systemd cgroup driver", "gVisor (runsc)"])
def test_an_engine_that_no_rule_knows_is_read_by_its_name(engine: str) -> None:
    machine = read_text([f"container engine: {engine}\n".encode()])
    assert (machine.container.engine, machine.container.engine_text) == (None, engine)


def test_an_engine_of_another_kind_is_none() -> None:
    assert read_text([b"engine: V8 12.4\n"]).container.engine_text is None


@pytest.mark.parametrize(
    ("said", "groups"),
    [
        ("ann is member of render group", ["ann", "render"]),
        ("user in render and video", ["ann", "render", "video"]),
        ("video, render", ["ann", "video", "render"]),
        ("user in video only", ["ann", "video"]),
        ("container user not in video", ["ann"]),
        ("render group is gid 992 on the host", ["ann"]),
        ("in the group of /dev/kfd", ["ann"]),
    ],
)
def test_groups_that_are_told_where_a_name_of_one_stands(said: str, groups: list[str]) -> None:
    sheet = id_command.read(f"uid=1000(ann) gid=1000(ann) groups=1000(ann),1001({said})")
    assert sheet.get("account.member_of") == groups
