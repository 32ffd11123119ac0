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
    "gpu-option-in-one-word": ["unknown flag: --gpus all", "docker: unknown flag: --device /dev/kfd"],
    "in-image-build-told": ["during docker build, step RUN webui.sh", "while building the image", "in the image build"],
    "driver-updated-under-container-told": [
        "since the driver of the host was updated",
        "after updating the NVIDIA driver",
        "after the host driver was upgraded",
        "since the host's driver update",
    ],
    "gpus-no-faster-told": ["training on 8 GPUs takes as long as on one", "with two GPUs it is no faster"],
    "spawner-isolates-devices": ["c.SystemdSpawner.isolate_devices = True"],
    "unit-protects-clock-told": ["ProtectClock=yes"],
    "only-cpu-listed-told": [
        "tensorflow lists CPU:0 only",
        "jax.devices() only shows the CPU",
        "it finds only the CPU",
    ],
    "ffmpeg-driver-library-missing": [
        "[h264_cuvid @ 0x5] Cannot load libnvcuvid.so.1",
        "Could not dynamically load CUDA",
    ],
    "video-library-missing": ["Cannot load libnvidia-encode.so.1"],
    "proc-driver-nvidia-mount-fails": [
        "mount error: mount operation failed: /var/lib/docker/overlay2/3/proc/driver/nvidia/params: no such file",
    ],
    "toolkit-ldconfig-not-there": [
        "nvidia-container-cli: ldcache error: open failed: /sbin/ldconfig.real: no such file or directory",
    ],
    "infiniband-not-passed-told": ["/dev/infiniband is missing in the pod", "started without /dev/infiniband"],
    "gpu-nodes-absent-inside-told": [
        "/dev/nvidia* do not exist in the jail",
        "there is no /dev/kfd in the pod",
        "/dev/dri/renderD128 is missing inside the container",
    ],
    "default-seccomp-told": ["it fails only with the default seccomp profile", "the default seccomp profile blocks it"],
    "counters-not-permitted": ["==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"],
    "some-gpus-hidden-told": ["only 1 of 4 GPUs is seen", "it uses only two of the eight cards"],
    "new-container-works-told": ["a new container works", "restarting the container helps"],
    "driver-file-of-other-release": [
        "failed to fulfil mount request: open /usr/lib/libnvidia-gtk3.so.550.90.07: no such file or directory",
    ],
    "persistenced-socket-not-there": [
        "failed to fulfil mount request: open /run/nvidia-persistenced/socket: no such file or directory",
    ],
}
NEAR_MISSES = {
    "gpu-option-in-one-word": "unknown flag: --gpus",
    "in-image-build-told": "the image build 24.08 works",
    "driver-updated-under-container-told": "the driver was updated and since then it works",
    "gpus-no-faster-told": "8 GPUs are four times faster than two",
    "gpu-nodes-absent-inside-told": "/dev/nvidia0 is mounted in the container",
    "default-seccomp-told": "started with seccomp=unconfined",
    "counters-not-permitted": "ncu works as root",
    "some-gpus-hidden-told": "only 2 of the 8 jobs are done",
    "new-container-works-told": "a new container fails as well",
    "driver-file-of-other-release": "failed to fulfil mount request: open /mnt/media: no such file or directory",
    "persistenced-socket-not-there": "nvidia-persistenced/socket is mounted",
    "only-cpu-listed-told": "it lists CPU:0 and GPU:0",
    "ffmpeg-driver-library-missing": "Cannot load nvcuda.dll",
    "video-library-missing": "Cannot load libcuda.so.1",
    "proc-driver-nvidia-mount-fails": "mount error: mount operation failed: /usr/bin/nvidia-smi: no such file",
    "toolkit-ldconfig-not-there": "ldcache error: process /sbin/ldconfig terminated with signal 9",
    "infiniband-not-passed-told": "--device=/dev/infiniband/uverbs0",
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


def test_ffmpeg_in_a_container_lacks_the_capability_video() -> None:
    def raised(error: str, run: str) -> list[str]:
        return told(form(error, container("docker", run)))

    video = "Cannot load libnvcuvid.so.1"
    given = "--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"
    assert raised(video, f"{given} jellyfin/jellyfin") == ["container-missing-gpu-passthrough"]
    assert raised(video, f"{given} -e NVIDIA_DRIVER_CAPABILITIES=compute,video jellyfin/jellyfin") == []
    assert raised("Cannot load libcuda.so.1", "jellyfin/jellyfin") == ["container-missing-gpu-passthrough"]


def test_a_driver_that_works_on_the_node_is_not_too_old_for_its_pods() -> None:
    text = "error code CUDA driver version is insufficient for CUDA runtime version"
    where = container("kubernetes")
    assert told(form(text, where, other("default runtime of containerd is runc"))) == [
        "container-runtime-not-configured"
    ]
    assert told(form(text))[:1] == ["nvidia-driver-too-old"]


def test_an_account_that_sudo_helps_in_apptainer() -> None:
    agent = "*******\nAgent 2\n*******\n  Name: gfx900\n  Marketing Name: Vega\n  Device Type: GPU"
    gpu = f"GPU:\n```\n$ rocminfo\n{agent}\n```"
    user = "User:\n```\n$ id\nuid=1000(me) gid=1000(me) groups=1000(me),10(wheel)\n```"
    error = "jax lists CPU:0 only\nwith sudo podman run the GPU is listed"
    assert told(form(error, gpu, container("apptainer 1.3", "--rocm jax.sif"), user)) == ["device-node-permission"]


def test_an_option_and_its_value_in_one_word() -> None:
    dev = container("docker (dev container)")
    asks = other('"runArgs": ["--gpus all"]')
    assert told(form("unknown flag: --gpus all", dev, asks)) == ["container-missing-gpu-passthrough"]
    assert told(form("unknown flag: --gpus", dev)) == ["container-runtime-not-configured"]


def test_an_image_build_sees_no_gpu_with_any_torch() -> None:
    error = "AssertionError: Torch is not able to use GPU; add --skip-torch-cuda-test to COMMANDLINE_ARGS"
    built = form(error, container("docker"), other("during docker build, step RUN webui.sh"))
    assert told(built) == ["container-missing-gpu-passthrough"]
    assert told(form(error)) == ["torch-cpu-only-build"]


def test_a_container_of_before_the_driver_update() -> None:
    where = container("docker", "--runtime=nvidia media/server")
    error = "nvidia-smi in the container: CUDA Version: N/A"
    updated = other("since the driver of the host was updated", "a recreated container works")
    assert told(form(error, where, updated))[:1] == ["nvidia-driver-library-mismatch"]
    assert "nvidia-driver-library-mismatch" not in told(form(error, where))
