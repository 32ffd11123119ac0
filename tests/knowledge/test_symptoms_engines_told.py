"""Texts of engines and schedulers: each is found as programs and people write it, and not its near miss."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, told

EXAMPLES = {
    "podman-runtime-not-found": [
        'Error: default OCI runtime "nvidia" not found: invalid argument',
        "Error: requested OCI runtime nvidia-container-runtime is not available: invalid argument",
        'Error: default OCI runtime "/usr/bin/nvidia-container-runtime" not found: invalid argument',
    ],
    "toolkit-program-does-not-load": [
        "nvidia-container-cli: error while loading shared libraries: libnvidia-container.so.1: cannot open",
        "nvidia-ctk: error while loading shared libraries: libdl.so.2: cannot open shared object file",
    ],
    "nvidia-smi-absent-inside-told": [
        "nvidia-smi is not available in the container",
        "nvidia-smi: missing inside the image",
        "inside my container nvidia-smi is not found",
        "in the worker container there is no nvidia-smi",
    ],
    "slurm-gpu-option-helped": [
        "#SBATCH --gres=gpu:a100:1 instead works",
        "with srun --gpus=2 it sees both GPUs",
        "salloc -G 1 fixed it",
    ],
    "driver-library-lies-there-told": [
        "libcuda.so.1 is mounted in /usr/local/nvidia/lib64",
        "ldconfig -p does not list it",
        "the file itself lies in the driver's folder",
        "the ld cache is not up to date",
    ],
    "podman-without-cdi": ["Error: stat nvidia.com/gpu=all: no such file or directory"],
    "spawner-isolates-devices": ["c.SystemdSpawner.isolate_devices = True"],
    "unit-protects-clock-told": ["ProtectClock=yes"],
}
NEAR_MISSES = {
    "podman-runtime-not-found": 'Error: default OCI runtime "crun" not found: invalid argument',
    "toolkit-program-does-not-load": "nvidia-container-cli: initialization error: driver error",
    "nvidia-smi-absent-inside-told": "nvidia-smi works in the container, and not all of its options are there",
    "slurm-gpu-option-helped": "#SBATCH --gres=gpu:1",
    "driver-library-lies-there-told": "libcuda.so.1 => not found",
    "podman-without-cdi": "stat /dev/nvidia0: no such file or directory",
    "spawner-isolates-devices": "c.SystemdSpawner.isolate_devices = False",
    "unit-protects-clock-told": "ProtectClock=no",
}


@pytest.mark.parametrize(("key", "line"), [(key, line) for key, lines in EXAMPLES.items() for line in lines])
def test_is_found(key: str, line: str) -> None:
    assert key in keys(line)


@pytest.mark.parametrize("key", EXAMPLES)
def test_its_near_miss_is_not(key: str) -> None:
    assert key not in keys(NEAR_MISSES[key])


def form(error: str, *sections: str) -> str:
    return "\n\n".join([f"Error output:\n```\n{error}\n```", "### Environment", *sections])


def container(engine: str, run: str = "") -> str:
    line = f"\n$ docker run {run}" if run else ""
    return f"Container:\n```\nrunning inside a container: yes\ncontainer engine: {engine}{line}\n```"


def other(*lines: str) -> str:
    return "Other output:\n```\n" + "\n".join(lines) + "\n```"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            form('Error: default OCI runtime "nvidia" not found', container("podman")),
            "container-runtime-not-configured",
        ),
        (
            form("nvidia-smi is missing in the container", container("docker compose")),
            "container-missing-gpu-passthrough",
        ),
        (
            form("RuntimeError: No CUDA GPUs are available", other("sbatch --gpus=1 works, --gres=gpu:1 did not")),
            "scheduler-no-gpu-allocated",
        ),
        (
            form(
                "libcuda.so.1: cannot open shared object file: No such file or directory",
                container("docker"),
                other("libcuda.so.1 is mounted in /usr/lib64/nvidia", "ldconfig -p does not list it"),
            ),
            "gpu-libs-not-found",
        ),
        (
            form("no CUDA-capable device is detected", other("in the unit: ProtectClock=yes")),
            "container-device-cgroup-denied",
        ),
    ],
)
def test_what_stands_first(text: str, first: str) -> None:
    assert told(text)[:1] == [first]


def test_a_podman_that_knows_no_cdi_is_told_beside_the_missing_spec() -> None:
    text = "Error: stat nvidia.com/gpu=0: no such file or directory"
    assert "container-engine-no-gpu-support" in told(form(text, container("podman 3.4.4")))
    assert "container-engine-no-gpu-support" not in told(form(text, container("podman 4.9.3")))


def test_a_device_plugin_without_nvml_speaks_of_no_old_driver() -> None:
    text = form(
        "CUDA driver version is insufficient for CUDA runtime version",
        container("kubernetes"),
        other("device plugin: could not load NVML library"),
    )
    assert "container-runtime-not-configured" in told(text)
    assert "nvidia-driver-too-old" not in told(text)


def test_locked_memory_of_a_container_with_rdma_devices() -> None:
    text = "ibv_create_cq(cqe=4096) failed: Cannot allocate memory"
    assert told(form(text, container("docker", "--device=/dev/infiniband/uverbs0 image"))) == [
        "memlock-limit-too-low",
        "container-security-profile",
    ]
    lifted = "--device=/dev/infiniband/uverbs0 --cap-add=IPC_LOCK image"
    assert told(form(text, container("docker", lifted))) == ["memlock-limit-too-low"]


def test_a_script_that_runs_as_root_is_no_remedy() -> None:
    lines = ("start.sh runs as root and then sudo -E -u me jupyter", "sudo strips LD_*")
    text = form("torch.cuda.is_available() returns False in the notebook", container("kubernetes"), other(*lines))
    assert "device-node-permission" not in told(text)
    assert "env-not-seen-by-service" in told(text)


def test_pyxis_gives_the_gpus_of_the_job() -> None:
    text = form(
        "no CUDA-capable device is detected",
        "GPU:\n```\n$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-40GB\n```",
        other("srun --gres=gpu:2 --container-image=nvcr.io/nvidia/pytorch:24.01-py3 python train.py"),
    )
    assert "container-missing-gpu-passthrough" not in told(text)
    without = text.replace("--gres=gpu:2 ", "")
    assert "container-missing-gpu-passthrough" in told(without)
