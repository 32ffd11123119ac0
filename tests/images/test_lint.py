from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.image_lint import _beside
from doctor.cli.main import run
from doctor.errors import InputError
from doctor.images.lint import RULES, Fault, lint
from tests.each import each

DIGEST = "@sha256:" + "a" * 64
ROCM = f"FROM rocm/dev-ubuntu-24.04:7.2{DIGEST}\n"
CUDA = f"FROM nvidia/cuda:13.0.2-base-ubuntu24.04{DIGEST}\n"
DEVEL = f"FROM nvidia/cuda:12.8.1-devel-ubuntu24.04{DIGEST}\n"
HELD = f"FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime{DIGEST}\n"
ROCM_INDEX = "https://download.pytorch.org/whl/rocm7.2"


def found(text: str, name: str = "Dockerfile") -> list[tuple[int, str, str]]:
    return [(f.line, f.rule, f.level) for f in lint(text, name)]


def rules(text: str, name: str = "Dockerfile") -> list[str]:
    return [f.rule for f in lint(text, name)]


def test_torch_for_amd_from_the_default_index_is_a_cuda_build() -> None:
    assert found(ROCM + "RUN apt-get update\nRUN pip install torch==2.13.0") == [
        (3, "image-wheel-index-missing", "error")
    ]
    assert rules(ROCM + f"RUN pip install torch==2.13.0 --index-url {ROCM_INDEX}") == []


def test_a_plain_python_base_with_gpu_wheels_is_fine() -> None:
    base = f"FROM python:3.12-slim-bookworm{DIGEST}\n"
    assert rules(base + "RUN pip install torch==2.15.0 vllm==0.33.0") == []
    assert rules(base + f"RUN pip install torch==2.13.0 --index-url {ROCM_INDEX}") == []
    assert rules(base + "RUN pip install torch==2.15.0+cpu --index-url https://download.pytorch.org/whl/cpu") == []


@pytest.mark.parametrize(("base", "tag"), [(ROCM, "cu130"), (CUDA, "rocm7.2")])
def test_the_other_vendors_index(base: str, tag: str) -> None:
    line = f"RUN pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/{tag}"
    assert found(base + line) == [(2, "image-wheel-index-wrong", "error")]


@pytest.mark.parametrize("words", ["torch==2.13.0 -i https://download.pytorch.org/whl/cpu", "torch==2.13.0+cpu"])
def test_cpu_torch_on_a_gpu_image(words: str) -> None:
    assert "image-torch-cpu-only" in rules(ROCM + f"RUN pip install {words}")
    assert "image-torch-cpu-only" in rules(CUDA + f"RUN uv pip install {words}")


def test_an_index_in_a_variable_is_followed() -> None:
    text = f"ARG TAG=rocm7.2\n{CUDA}ARG TAG\nENV URL=https://download.pytorch.org/whl/$TAG\n"
    assert found(text + "RUN pip install torch==2.13.0 --index-url ${URL}") == [(5, "image-wheel-index-wrong", "error")]


def test_an_extra_index_leaves_open_which_torch_comes() -> None:
    """Of one version pip prefers the build with a local label, which the extra index alone has."""
    extra = "--extra-index-url https://download.pytorch.org/whl"
    assert rules(ROCM + f"RUN pip install torch {extra}/rocm7.2") == ["image-wheel-index-open"]
    assert "has newer torch than cu118" in lint(CUDA + f"RUN pip install torch {extra}/cu118", "Dockerfile")[0].text
    for words in (f"torch==2.13.0 {extra}/rocm7.2", f"torch==2.13.0+rocm7.2 {extra}/rocm7.2"):
        assert rules(ROCM + f"RUN pip install {words}") == []
    assert rules(f"FROM python:3.12{DIGEST}\nRUN pip install torch {extra}/cpu") == []


@each(
    "text, rule",
    [
        (CUDA + "RUN python3 -m pip install torch", "image-torch-unpinned"),
        (ROCM + f"RUN pip install torch --index-url {ROCM_INDEX}", "image-torch-unpinned"),
        # No new torch is built for ROCm 6.2; what an unknown base holds may satisfy it.
        (ROCM + "RUN pip install torch --index-url https://download.pytorch.org/whl/rocm6.2", None),
        (f"FROM rocm/primus:v25.11{DIGEST}\nRUN pip install torch", None),
    ],
)
def test_torch_without_a_version(text: str, rule: str | None) -> None:
    assert rules(text) == ([rule] if rule else [])


@each(
    "text, rule",
    [
        (CUDA + "RUN pip install jax flax", "image-jax-cpu-only"),
        (CUDA + "RUN pip install 'jax[cuda13]'", None),
        (ROCM + "RUN pip install jax\nRUN pip install jax-rocm7-plugin jax-rocm7-pjrt", None),
        (f"FROM python:3.12{DIGEST}\nRUN pip install jax", None),
        (ROCM + "RUN pip install tensorflow==2.20.0", "image-wheel-index-wrong"),
        (ROCM + "RUN pip install tensorflow-rocm==2.19.1", None),
        (CUDA + "RUN pip install tensorflow==2.20.0", None),
    ],
)
def test_jax_and_tensorflow_for_the_gpus_of_the_base(text: str, rule: str | None) -> None:
    assert rules(text) == ([rule] if rule else [])


def test_a_requirement_without_quotes_is_a_redirection() -> None:
    assert rules(CUDA + "RUN pip install numpy torch>=2.0.0,<3") == [
        "image-requirement-unquoted",
        "image-torch-unpinned",
    ]
    assert rules(CUDA + "RUN pip install 'numpy>=2' \"scipy>=1\" torch==2.13.0 > /log") == []


@each(
    "line, level",
    [
        ('ENV HSA_OVERRIDE_GFX_VERSION=""', "error"),
        ("ENV ROCR_VISIBLE_DEVICES=all", "error"),
        ("ENV NCCL_DEBUG=LOUD", "warning"),
        ("ENV NCCL_DEBUG=INFO", None),
        ('ENV CUDA_VISIBLE_DEVICES=""', None),  # hides them on purpose
    ],
)
def test_a_value_that_the_library_does_not_take(line: str, level: str | None) -> None:
    assert found(ROCM + line) == ([(2, "image-flag-wrong", level)] if level else [])


def test_what_runs_in_no_container_harms_no_driver() -> None:
    """A stage that others copy files from has no GPU."""
    stage = CUDA.rstrip() + " AS build\nENV CUDA_VISIBLE_DEVICES=0\nRUN ldconfig /usr/local/cuda/compat\n"
    assert rules(stage + CUDA + "COPY --from=build /a /a") == []
    assert rules(stage + CUDA + "RUN --mount=type=bind,from=build,target=/b true") == []
    both = ["image-flag-baked", "image-compat-on-loader-path"]
    assert rules(stage + "FROM build\nRUN true") == both
    assert rules(stage + CUDA + "RUN true") == both  # docker build --target build


def test_a_later_install_may_replace_a_rocm_torch() -> None:
    torch = f"RUN pip install torch==2.13.0 --index-url {ROCM_INDEX}\n"
    for words in ("xformers==0.0.30", "-U torchvision", "--force-reinstall accelerate", "--upgrade-strategy eager trl"):
        assert found(ROCM + torch + f"RUN pip install {words}") == [(3, "image-torch-not-held", "warning")], words
    for safe in ("ENV PIP_CONSTRAINT=/c.txt\nRUN pip install xformers", "RUN pip install --no-deps xformers"):
        assert rules(ROCM + torch + safe) == []
    assert rules(CUDA + "RUN pip install torch==2.15.0\nRUN pip install accelerate") == []


@pytest.mark.parametrize("words", ["accelerate==1.2", "-U accelerate transformers", "torchvision", "torch", "vllm"])
def test_what_the_torch_that_is_there_satisfies_replaces_nothing(words: str) -> None:
    """pip and uv upgrade what is named, and of the rest only what no longer fits."""
    assert rules(f"FROM rocm/vllm-dev:rocm7.2{DIGEST}\nRUN pip install {words}") == []
    assert rules(f"FROM rocm/vllm-dev:rocm7.2{DIGEST}\nRUN uv pip install --system {words}") == []


def test_uv_takes_torch_from_the_extra_index_first() -> None:
    words = f"'torch>=2.13' --extra-index-url {ROCM_INDEX}"
    assert rules(ROCM + f"RUN uv pip install {words}") == ["image-torch-unpinned"]
    assert rules(ROCM + f"RUN uv pip install --index-strategy unsafe-best-match {words}") == ["image-wheel-index-open"]


def test_a_list_of_requirements_is_read_as_if_it_stood_in_the_command() -> None:
    lists = {"app/requirements.txt": "numpy>=2 # fine\ntorch == 2.13.0 ; python_version > '3.9'\n", "gpu.txt": ""}
    text = ROCM + "COPY app/requirements.txt /tmp/\nRUN pip install -r /tmp/requirements.txt"
    assert [(f.line, f.rule) for f in lint(text, "Dockerfile", lists.get)] == [(3, "image-wheel-index-missing")]
    lists["app/requirements.txt"] += f"--index-url {ROCM_INDEX}\n"
    assert lint(text, "Dockerfile", lists.get) == []
    assert rules(text) == []  # a list that is not there says nothing
    lists = {"app/requirements.txt": "torch==2.13.0\n", "old.py": ""}
    copy = ROCM + "COPY app/requirements.txt old.py ./\n"
    for edit in ("sed -i /torch/d requirements.txt", "python3 old.py"):  # it may be another one by then
        assert lint(copy + f"RUN {edit} && pip install -r requirements.txt", "Dockerfile", lists.get) == []


def test_a_list_outside_of_the_build_context_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("torch")
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "a/list.txt").write_text("numpy")
    dockerfile = tmp_path / "a/b/Dockerfile"
    assert _beside(dockerfile, "../../secret.txt") is None
    assert _beside(dockerfile, str(tmp_path / "secret.txt")) is None
    assert _beside(dockerfile, "link.txt") is None
    assert _beside(dockerfile, "list.txt") == "numpy"


def test_all_packages_of_a_gpu_base_are_upgraded() -> None:
    for line in ("apt-get update && apt-get upgrade -y", "apt -y dist-upgrade", "apt-get -qq -y full-upgrade"):
        assert rules(CUDA + f"RUN {line}") == ["image-base-upgraded"], line
        assert rules(f"FROM debian:12{DIGEST}\nRUN {line}") == []
        assert rules(ROCM + f"RUN {line}") == []  # its repository is that of one release
    assert rules("FROM nvidia/cuda:13.0.2-base-ubi9" + DIGEST + "\nRUN dnf update -y") == ["image-base-upgraded"]
    assert rules(CUDA + "RUN apt-get install -y --only-upgrade openssl && apt-get update") == []


@each(
    "line",
    [
        "RUN wget -q --no-check-certificate https://x.org/a.tar.gz",
        "RUN apt-get update && curl -fsSLk https://x.org/key | apt-key add -",
        "RUN echo 'deb [arch=amd64 trusted=yes] https://repo.radeon.com/rocm/apt/7.2 noble main' > /etc/apt/a.list",
        "RUN apt-get install -y --allow-unauthenticated rocm",
    ],
)
def test_a_download_that_is_not_checked(line: str) -> None:
    assert rules(ROCM + line) == ["image-download-unverified"]


def test_a_folder_of_ones_own_needs_no_signature() -> None:
    assert rules(ROCM + "RUN echo 'deb [trusted=yes] file:/srv/debs ./' > /etc/apt/a.list") == []
    assert rules(ROCM + "RUN curl -fsSL https://x.org/look -o /tmp/k && wget https://x.org/a") == []


def test_amds_repository_for_another_release() -> None:
    line = "RUN echo 'deb https://repo.radeon.com/rocm/apt/7.2 {} main' > /etc/apt/sources.list.d/rocm.list"
    base = f"FROM ubuntu:24.04{DIGEST}\n"
    assert rules(base + line.format("jammy")) == ["image-repository-other-release"]
    assert rules(base + line.format("noble")) == []
    installer = "RUN wget https://repo.radeon.com/amdgpu-install/7.2/ubuntu/jammy/amdgpu-install.deb"
    assert rules(base + installer) == ["image-repository-other-release"]
    assert rules(f"FROM debian:12{DIGEST}\n" + line.format("jammy")) == []  # as AMD says for Debian 12


@each(
    "text, rule",
    [
        (
            DEVEL + "RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu118",
            "image-wheel-index-wrong",
        ),
        (DEVEL + "RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu128", None),
        (DEVEL + "RUN pip install torch==2.9.0 --index-url https://mirror.example/whl/cu118", None),
        (DEVEL + "RUN pip install torch==2.3.0 torchvision==0.17.0", "image-torch-not-held"),
        (DEVEL + "RUN pip install torch==2.3.0 torchvision==0.18.0", None),
        (HELD + "RUN pip install torch==2.1.2", "image-torch-not-held"),  # its torchvision is for 2.4.0
        (HELD + "RUN pip install torch==2.4.0 && pip install torch==2.1.2 torchvision==0.16.2", None),
        (ROCM + "RUN pip install cupy-cuda12x", "image-wheel-index-wrong"),
        (ROCM + "RUN pip install nvidia-ml-py cupy-rocm-5-0", None),
        (DEVEL + "RUN pip install jax-rocm60-plugin", "image-wheel-index-wrong"),
        (ROCM + "RUN pip install 'jax[cuda12]'", "image-wheel-index-wrong"),
        (ROCM + "RUN if [ $ROCM = 0 ]; then pip install cupy-cuda12x; fi", None),
        (
            DEVEL + f"RUN if [ $ROCM = 1 ]; then pip install torch==2.12.0 --index-url {ROCM_INDEX}; fi",
            None,
        ),
        (DEVEL + "RUN apt-get install -y cuda-toolkit-11-8", "image-toolkit-torch-mismatch"),
        (DEVEL + "RUN apt-get install -y cuda-toolkit-12-4", None),
    ],
)
def test_packages_that_do_not_go_together(text: str, rule: str | None) -> None:
    assert rules(text) == ([rule] if rule else [])


def service(image: str, device: str, command: str = "x") -> str:
    resources = f"{{resources: {{reservations: {{devices: [{device}]}}}}}}"
    return f"services:\n  a:\n    image: {image}\n    command: {command}\n    shm_size: 8g\n    deploy: {resources}\n"


@each(
    "image, device, command, count",
    [
        ("rocm/pytorch:6.4", "{driver: nvidia, count: 2, capabilities: [gpu]}", "x", 1),
        ("vllm/vllm-openai:v1", "{driver: nvidia, count: 2, capabilities: [gpu]}", "--tensor-parallel-size 4", 1),
        ("vllm/vllm-openai:v1", "{driver: nvidia, count: 2, capabilities: [gpu]}", "--tensor-parallel-size 2", 0),
        ("vllm/vllm-openai:v1", "{driver: nvidia, count: all, capabilities: [gpu]}", "--tensor-parallel-size 4", 0),
        ("a/b:1", "{driver: nvidia, device_ids: ['0'], capabilities: [gpu]}", "torchrun --nproc_per_node=2 t.py", 1),
        (
            "a/b:1",
            "{driver: nvidia, count: 1, capabilities: [gpu]}",
            "vllm serve m --tp 2 --distributed-executor-backend ray",
            0,
        ),
    ],
)
def test_gpus_that_are_not_what_the_container_needs(image: str, device: str, command: str, count: int) -> None:
    assert rules(service(image, device, command), "compose.yml") == ["image-gpu-request-wrong"] * count


def test_code_is_compiled_with_another_cuda() -> None:
    flash = "RUN pip install flash-attn==2.8.3 --no-build-isolation"
    torch = "RUN pip install torch==2.14.1 --index-url https://download.pytorch.org/whl/cu{}\n"
    assert rules(DEVEL + torch.format(130) + flash) == ["image-toolkit-torch-mismatch"]
    assert rules(DEVEL + torch.format(126) + flash) == []


@pytest.mark.parametrize(
    "package", ["nvidia-driver-580", "cuda-drivers", "cuda", "amdgpu-dkms", "libnvidia-compute-580=1"]
)
def test_a_driver_in_the_image(package: str) -> None:
    text = CUDA + f"RUN apt-get update && apt-get install -y --no-install-recommends curl {package}"
    assert found(text) == [(2, "image-driver-installed", "error")]


def test_the_user_space_alone_is_no_driver() -> None:
    packages = "cuda-toolkit-13-0 libcudnn9-cuda-13 rocm-hip-libraries cuda-nvcc-13-0 nvidia-container-toolkit nvtop"
    assert rules(CUDA + f"RUN apt-get install -y {packages}") == []
    assert rules(ROCM + "RUN amdgpu-install --usecase=rocm --no-dkms -y") == []
    assert rules(ROCM + "RUN amdgpu-install --usecase=rocm -y") == ["image-driver-installed"]


def test_compatibility_libraries_on_the_loader_path() -> None:
    assert rules(CUDA + "ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:/x") == ["image-compat-on-loader-path"]
    line = "RUN echo /usr/local/cuda-13.0/compat > /etc/ld.so.conf.d/00.conf && ldconfig"
    assert rules(CUDA + line) == ["image-compat-on-loader-path"]
    assert rules(CUDA + "ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64") == []


def test_group_render_by_name() -> None:
    for line in ("usermod -aG video,render user", "useradd -m -G render user", "gpasswd -a user render"):
        assert rules(ROCM + f"RUN {line}\nUSER user") == ["image-group-by-name"], line
        assert rules(ROCM + f"RUN {line}") == []  # root opens all
        assert rules(ROCM + f"RUN groupadd -g 992 render && {line}\nUSER user") == []
    assert rules(ROCM + "RUN usermod -aG sudo user && useradd -m render-farm\nUSER user") == []


def test_a_user_in_group_video_alone() -> None:
    """video has the same number on each Debian and Ubuntu, and none of AMD's nodes."""
    line = "RUN useradd -m user && usermod -aG video user\n"
    assert found(ROCM + line + "USER user") == [(2, "image-group-video-alone", "warning")]
    assert rules(ROCM + line) == []  # root opens all
    assert rules(ROCM + "RUN usermod -aG video,992 user\nUSER user") == []
    assert rules(CUDA + line + "USER user") == []


def test_variables_for_one_machine_or_for_debugging() -> None:
    override = "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0"
    assert rules(ROCM + override) == ["image-flag-baked"]
    assert rules(ROCM + "ENV PYTORCH_ROCM_ARCH=gfx1030\n" + override) == []  # the image is for that GPU alone
    assert rules(CUDA + "ENV CUDA_LAUNCH_BLOCKING 1") == ["image-flag-baked"]
    assert rules(CUDA + "ENV CUDA_LAUNCH_BLOCKING=0 NVIDIA_VISIBLE_DEVICES=all NCCL_DEBUG=WARN") == []


def test_a_tag_moves_and_none_moves_most() -> None:
    assert found("FROM ubuntu:24.04\nRUN true") == [(1, "image-base-moves", "info")]
    assert found("FROM rocm/pytorch\n") == [(1, "image-base-moves", "warning")]
    assert found("FROM alpine\n") == [(1, "image-base-moves", "info")]
    assert rules(f"FROM ubuntu:24.04{DIGEST} AS one\nFROM one\nFROM scratch\n") == []
    many = lint("FROM ubuntu:24.04 AS a\nFROM debian:12 AS b\nFROM ubuntu:24.04\n", "Dockerfile")
    assert [(f.line, f.text) for f in many] == [(1, "ubuntu:24.04, debian:12: tags move, and a digest does not")]


COMPOSE = """services:
  train:
    image: rocm/pytorch:rocm7.2
    shm_size: 8gb
    devices:
      - /dev/kfd
      - /dev/dri
    group_add: ["992"]
"""


def test_a_compose_file_that_is_right() -> None:
    assert rules(COMPOSE, "compose.yaml") == []
    nvidia = "services:\n  a:\n    image: x/vllm:1\n    runtime: nvidia\n    ipc: shareable\n"
    assert rules(nvidia, "compose.yaml") == []


@each(
    "old, new, line, rule, level",
    [
        ('    group_add: ["992"]', '    user: "1000"\n    group_add: [video]', 8, "image-device-missing", "warning"),
        ('["992"]', "[video, render]", 8, "image-group-by-name", "error"),
        ("    shm_size: 8gb", "    ipc: host", 4, "image-ipc-host", "warning"),
        ("    shm_size: 8gb", "    shm_size: 8gb\n    privileged: true", 5, "image-privileged", "warning"),
        ("      - /dev/dri\n", "", 5, "image-device-missing", "error"),
        ("      - /dev/kfd\n", "", 5, "image-device-missing", "error"),
        ("    shm_size: 8gb\n", "", 2, "image-shm-small", "info"),
        (":rocm7.2", "", 3, "image-base-moves", "warning"),
        ('    group_add: ["992"]', '    user: "1000"', 8, "image-device-missing", "warning"),
        ('["992"]', '["992"]\n    security_opt: ["seccomp=unconfined"]', 9, "image-seccomp-unconfined", "info"),
        ('["992"]', '["992"]\n    environment: [AMD_VISIBLE_DEVICES=0]', 9, "image-gpu-request-wrong", "warning"),
    ],
)
def test_faults_of_compose_files(old: str, new: str, line: int, rule: str, level: str) -> None:
    assert (line, rule, level) in found(COMPOSE.replace(old, new), "compose.yaml")


def test_privileged_opens_every_node() -> None:
    text = COMPOSE.replace("      - /dev/dri\n", "").replace("    shm_size", "    privileged: true\n    shm_size")
    assert rules(text, "compose.yaml") == ["image-privileged"]


POD = """apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      containers:
        - name: train
          image: rocm/pytorch:rocm7.2
          resources:
            limits:
              amd.com/gpu: 8
          volumeMounts:
            - {name: shm, mountPath: /dev/shm}
      volumes:
        - {name: shm, emptyDir: {medium: Memory}}
        - {name: dri, hostPath: {path: /dev/dri}}
"""


def test_a_job_that_is_right() -> None:
    assert rules(POD, "job.yaml") == []


@each(
    "old, new, line, rule, level",
    [
        ("limits", "requests", 11, "image-gpu-request-wrong", "error"),
        (
            "gpu: 8",
            "gpu: 8\n            requests:\n              amd.com/gpu: 4",
            13,
            "image-gpu-request-wrong",
            "error",
        ),
        ("gpu: 8", "gpu: 0.5", 11, "image-gpu-request-wrong", "error"),
        ("gpu: 8", "gpu: 500m", 11, "image-gpu-request-wrong", "error"),
        ("mountPath: /dev/shm", "mountPath: /cache", 7, "image-shm-small", "info"),
        (":rocm7.2", "", 8, "image-base-moves", "warning"),
        ("      containers", "      hostIPC: true\n      containers", 6, "image-ipc-host", "warning"),
        ("resources", "securityContext: {privileged: true}\n          resources", 9, "image-privileged", "warning"),
    ],
)
def test_faults_of_a_manifest(old: str, new: str, line: int, rule: str, level: str) -> None:
    assert (line, rule, level) in found(POD.replace(old, new, 1), "job.yaml")


def test_nodes_by_host_path_alone_cannot_be_opened() -> None:
    text = POD.replace("amd.com/gpu: 8", "memory: 8Gi").replace("name: shm, mountPath", "name: dri, mountPath")
    assert found(text, "job.yaml") == [(13, "image-device-missing", "error")]


def test_manifests_without_a_gpu_are_not_judged() -> None:
    text = POD.replace("amd.com/gpu: 8", "memory: 8Gi").replace(":rocm7.2", "")
    assert rules(text, "job.yaml") == []
    assert rules(POD.replace("gpu: 8", "gpu: 2000m"), "job.yaml") == []
    assert rules(POD.replace("rocm/pytorch:rocm7.2", "REPLACE_IMAGE"), "job.yaml") == []


def test_a_device_request_that_the_engine_refuses() -> None:
    text = """services:
  a:
    image: vllm/vllm-openai:v1
    shm_size: 8g
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: all
            - {driver: nvidia, count: 1, device_ids: ["0"], capabilities: [gpu]}
"""
    assert found(text, "compose.yaml") == [
        (9, "image-gpu-request-wrong", "error"),
        (11, "image-gpu-request-wrong", "error"),
    ]


def test_a_service_without_a_gpu_is_not_judged() -> None:
    assert rules("services:\n  db:\n    image: postgres:17\n    privileged: true\n    ipc: host\n", "c.yml") == []


def test_none_of_the_three() -> None:
    with pytest.raises(InputError, match="neither a Dockerfile, a compose file nor a Kubernetes manifest"):
        lint("hello", "x")


def test_every_rule_that_is_raised_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    fault: list[Fault] = lint(ROCM + "RUN pip install torch", "Dockerfile")
    assert {f.rule for f in fault} <= set(RULES)
    assert run(["explain", fault[0].rule]) == 0
    assert RULES[fault[0].rule] in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        "RUN ldconfig /usr/local/cuda-$(echo $CUDA_VERSION | cut -d. -f1,2)/compat/",
        "RUN ldconfig /usr/local/cuda-13.0/compat",
        "RUN echo /usr/local/cuda/compat > /etc/ld.so.conf.d/0-compat.conf && ldconfig",
    ],
)
def test_the_loader_s_cache_is_a_loader_path_too(line: str) -> None:
    """A form of public servers' images: it is in no variable, and lasts all the same."""
    assert found(CUDA + line) == [(2, "image-compat-on-loader-path", "error")]


def test_compat_libraries_that_lie_in_the_image_are_on_no_loader_path_yet() -> None:
    assert rules(CUDA + "RUN apt-get install -y cuda-compat-13-0 && ldconfig") == []
    assert rules(CUDA + "COPY --from=samples /usr/local/cuda-13.0/compat /usr/local/cuda/compat") == []
    assert rules(CUDA + "RUN ldconfig && ls /usr/local/cuda/compat") == []


def test_an_image_that_is_there_to_build_a_driver_may_have_one() -> None:
    """An operator's: it builds the modules for a kernel and registers them."""
    base = f"FROM ubuntu:24.04{DIGEST}\nRUN apt-get install -y amdgpu-dkms\n"
    assert rules(base + "RUN depmod -b /opt ${KERNEL_FULL_VERSION}") == []
    assert rules(base + "RUN true") == ["image-driver-installed"]


def test_a_tool_that_computes_nothing_may_start_on_any_driver() -> None:
    line = "ENV NVIDIA_DISABLE_REQUIRE=true"
    assert rules(f"FROM nvcr.io/nvidia/distroless/go:v4.1.1{DIGEST}\n" + line) == []
    assert rules(CUDA + line) == ["image-flag-baked"]


def test_services_without_a_gpu_beside_one_are_not_looked_at() -> None:
    """Metrics beside a server, and images that are only built."""
    text = """services:
  grafana:
    image: grafana/grafana:latest
    privileged: true
  builder:
    image: registry.example.org/ci/cuda13:3
    build: {context: .}
  server:
    image: vllm/vllm-openai:latest
    gpus: all
    shm_size: 8gb
"""
    assert found(text, "compose.yaml") == [(9, "image-base-moves", "warning")]


def test_a_comment_allows_a_rule_for_what_is_below_it_alone() -> None:
    text = "# why\n# doctor: ignore image-base-moves a test\nFROM rocm/dev-ubuntu-24.04:7.2\nFROM ubuntu:24.04\n"
    found = [(f.line, f.ignored) for f in lint(text, "Dockerfile") if f.rule == "image-base-moves"]
    assert (3, True) in found
    for other in ("image-base-moves", "image-x a test"):  # no reason; another rule
        assert not lint(text.replace("image-base-moves a test", other), "Dockerfile")[0].ignored


def test_sarif_has_rules_places_and_what_was_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a b"
    file.write_text("# doctor: ignore image-base-moves a test\nFROM rocm/dev-ubuntu-24.04\nRUN pip install torch\n")
    assert run(["image", "lint", "--format", "sarif", str(file)]) == 1
    log = json.loads(capsys.readouterr().out)["runs"][0]
    rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in log["results"])
    assert {r["ruleId"] for r in log["results"] if "suppressions" in r} == {"image-base-moves"}
    assert {"image-wheel-index-missing"} <= {r["ruleId"] for r in log["results"] if "suppressions" not in r}
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["results"]}
    assert places == {file.as_uri()}


PROJECT = """[project]
dependencies = ["torch>=2.6; sys_platform == 'linux'", "cupy-cuda12x; sys_platform == 'win32'"]
[project.optional-dependencies]
cpu = ["torch==2.9.0+cpu"]
"""
SOURCES = """[tool.uv.sources]
torch = [{{index = "here", extra = "cpu"}}, {{index = "there"}}]
[[tool.uv.index]]
name = "there"
url = "https://download.pytorch.org/whl/{}"
explicit = true
"""
LOCK = '[[package]]\nname = "torch"\nversion = "2.9.0{}"\nsource = {{registry = "{}"}}\n'
PYPI = "https://pypi.org/simple"


def with_files(text: str, files: dict[str, str]) -> list[str]:
    return [f.rule for f in lint(text, "Dockerfile", files.get)]


@each(
    "base, run, files, rule",
    [
        (ROCM, "uv sync --frozen", {"pyproject.toml": PROJECT}, "image-wheel-index-missing"),
        (ROCM, "uv sync", {"pyproject.toml": PROJECT + SOURCES.format("rocm7.2")}, None),
        (ROCM, "uv sync", {"pyproject.toml": PROJECT + SOURCES.format("cu130")}, "image-wheel-index-wrong"),
        (CUDA, "uv sync", {"pyproject.toml": PROJECT + SOURCES.format("cpu")}, "image-torch-cpu-only"),
        (CUDA, "uv sync", {"pyproject.toml": PROJECT + SOURCES.format("cu130")}, None),
        (CUDA, "uv sync --extra cpu", {"pyproject.toml": PROJECT}, "image-torch-cpu-only"),
        (CUDA, "uv sync --extra $WHICH", {"pyproject.toml": PROJECT + SOURCES.format("cpu")}, None),
        (ROCM, "sed -i /torch/d pyproject.toml && uv sync", {"pyproject.toml": PROJECT}, None),
        (ROCM, "git clone https://x.org/a && cd a && pip install -e .", {"pyproject.toml": PROJECT}, None),
        (ROCM, "pip install -e .", {"pyproject.toml": PROJECT}, "image-wheel-index-missing"),
        (ROCM, "pip install -e . -c held.txt", {"pyproject.toml": "[project]\ndependencies = ['numpy']"}, None),
        (CUDA, "pip install '.[cpu]'", {"pyproject.toml": PROJECT}, "image-torch-cpu-only"),
        (
            CUDA,
            "uv sync",
            {"pyproject.toml": "[project]\ndependencies = ['torch']", "uv.lock": LOCK.format("+cpu", ROCM_INDEX)},
            "image-torch-cpu-only",
        ),
        (
            ROCM,
            "uv sync",
            {"pyproject.toml": "[project]\ndependencies = ['timm']", "uv.lock": LOCK.format("", PYPI)},
            "image-wheel-index-missing",
        ),
    ],
)
def test_a_project_names_its_packages_in_its_own_file(
    base: str, run: str, files: dict[str, str], rule: str | None
) -> None:
    assert with_files(f"{base}COPY . .\nRUN {run}", files) == ([rule] if rule else [])
    assert with_files(f"{base}RUN {run}", files) == []  # which project it is, is not known


@each(
    "pyproject",
    [
        "[project]\ndependencies = 7\n[tool.uv]\ndefault-groups = 3\nindex = 4\nsources = 'x'",
        "[project]\ndependencies = [[1], 'torch; python_version > \"x\"', 'a b c', 'torch; extra > 1']",
        "project = 'x'\n[tool.uv.sources]\ntorch = [1, {index = 2, extra = []}]",
        "[" * 5000,
    ],
)
def test_a_project_s_file_of_another_form_says_nothing(pyproject: str) -> None:
    files = {"pyproject.toml": pyproject, "uv.lock": "package = [1, {name = 'torch', version = 2}]"}
    assert with_files(f"{ROCM}COPY . .\nRUN uv sync && uv pip install -e .", files) == []


FORGE = "channels: [conda-forge]\ndependencies: [python=3.12, {}, pip, {{pip: [{}]}}]\n"


@each(
    "base, environment, rule",
    [
        (CUDA, FORGE.format("pytorch=2.9", "timm"), "image-torch-cpu-only"),  # the solver sees no GPU in a build
        (CUDA + "ENV CONDA_OVERRIDE_CUDA=13.0\n", FORGE.format("pytorch=2.9", "timm"), None),
        (CUDA, FORGE.format("pytorch=2.9=cuda*", "timm"), None),
        (CUDA, FORGE.format("pytorch", "timm").replace("[conda-forge]", "[pytorch, nvidia]"), None),
        (CUDA, FORGE.format("cpuonly", "timm"), "image-torch-cpu-only"),
        (ROCM, FORGE.format("numpy", "torch==2.9.0"), "image-wheel-index-missing"),
        (ROCM, FORGE.format("cudatoolkit=11.8", "timm"), "image-wheel-index-wrong"),
        (ROCM, FORGE.format("numpy", "timm"), None),
    ],
)
def test_an_environment_of_conda_is_read_with_what_pip_installs_there(
    base: str, environment: str, rule: str | None
) -> None:
    text = f"{base}COPY environment.yml /tmp/\nRUN mamba env create -f /tmp/environment.yml"
    assert with_files(text, {"environment.yml": environment}) == ([rule] if rule else [])


RANKS = 'CMD ["vllm", "serve", "m", "--tensor-parallel-size", "4"]\n'
NVIDIA_2 = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}"
NODES = "devices: [/dev/kfd, /dev/dri]"


@each(
    "build, service, dockerfile, rule",
    [
        (".", NVIDIA_2, ROCM, "image-gpu-request-wrong"),
        (".", NVIDIA_2, CUDA, None),
        (".", NVIDIA_2, CUDA + RANKS, "image-gpu-request-wrong"),
        (".", f"{NVIDIA_2}\n    command: vllm serve m", CUDA + RANKS, None),
        (".", NODES, "FROM debian:13\nUSER app\n", "image-device-missing"),
        (".", f"{NODES}\n    user: root", "FROM debian:13\nUSER app\n", None),
        (".", f'{NODES}\n    group_add: ["992"]', "FROM debian:13\nUSER app\n", None),
        (".", "devices: [/dev/dri]", ROCM, "image-device-missing"),
        (".", "devices: [/dev/dri]", "FROM debian:13\n", None),
        ("{context: ., target: Cpu}", NVIDIA_2, f"{CUDA.rstrip()} AS cpu\n{ROCM}", None),
        ("{context: ., args: {B: x}}", NVIDIA_2, "ARG B=rocm/dev-ubuntu-24.04:7.2\nFROM $B\n", None),
        ("https://x.org/a.git", NVIDIA_2, ROCM, None),
    ],
)
def test_a_service_is_judged_with_the_dockerfile_that_it_is_built_from(
    build: str, service: str, dockerfile: str, rule: str | None
) -> None:
    text = f"services:\n  a:\n    build: {build}\n    shm_size: 8g\n    {service}\n"
    assert [f.rule for f in lint(text, "compose.yml", {"Dockerfile": dockerfile}.get)] == ([rule] if rule else [])


def test_a_build_context_above_the_compose_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docker").mkdir()
    (tmp_path / "gpu.Dockerfile").write_text(ROCM)
    compose = tmp_path / "docker/compose.yml"
    compose.write_text(f"services: {{a: {{build: {{context: .., dockerfile: gpu.Dockerfile}}, {NVIDIA_2}}}}}\n")
    assert run(["image", "lint", str(compose)]) == 1
    assert "which is for those of AMD" in capsys.readouterr().out
