"""What a container was asked for (run line, compose file, manifest), and whether a text says that no GPU is seen."""

from __future__ import annotations

import re

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.hardware import vendors_there

_AMD_IMAGE = Lazy(r"rocm|amd(?:gpu|ih)?[-/:]|gfx\d|navi|strix|radeon", re.IGNORECASE)
_NVIDIA_IMAGE = Lazy(
    r"nvidia|cuda|nvcr\.io|cu1[1-3]\d\b|pytorch/pytorch|vllm-openai|tensorrt|triton|-gpu\b", re.IGNORECASE
)
_AMD_NODE = Lazy(r"/dev/(?:kfd|dri|dxg)\b|amd\.com/gpu")
_MONITOR = Lazy(r"exporter|nvtop|gpustat|netdata|telegraf|glances|zabbix", re.IGNORECASE)
_NVIDIA_ASKED = Lazy(r"nvidia|^all$|^\d|^\"?device=|count", re.IGNORECASE)

NO_GPU_SEEN = frozenset(
    {
        "torch-reports-no-gpu",
        "torch-reports-no-hip-gpu",
        "framework-falls-back-to-cpu",
        "ggml-gpu-not-initialized",
        "jax-no-gpu-falls-back",
        "torch-cannot-use-gpu-webui",
        "cuda-no-device",
        "cuda-no-device-code",
        "deserialize-on-cuda-without-cuda",
        "hip-no-device",
        "hip-no-device-code",
        "nvidia-smi-not-found",
        "torch-no-nvidia-driver",
        "libcuda-missing",
        "rocm-module-not-loaded",
        "nvidia-smi-cannot-communicate",
        "kfd-missing-in-container",
        "kfd-node-missing",
        "no-gpu-in-compose",
        "exec-nvidia-smi-missing",
        "tensile-no-devices",
        "vllm-no-platform",
        "nvidia-smi-no-devices",
        "nvml-library-not-found",
        "tensorflow-no-gpu-listed",
    }
)
"""Symptoms that say no more than that no GPU is seen."""


def options(machine: Snapshot, *names: str) -> tuple[str, ...]:
    """Values of those options, in order: of `--device=X` and of `--device X`; "" where an option takes none."""
    args = machine.container.run_args or ()
    found = []
    for position, word in enumerate(args):
        name, sign, value = word.partition("=")
        if name in names:
            following = args[position + 1] if position + 1 < len(args) else ""
            found.append(value if sign else "" if following.startswith("-") else following)
    return tuple(found)


def shown(machine: Snapshot) -> bool:
    """Whether options of the container are shown: a line that names none says nothing of those it lacks. toolbox and
    distrobox pass all of /dev by themselves; Apptainer gives no driver's libraries without --nv."""
    args = machine.container.run_args or ()
    if machine.container.engine == "apptainer" and args and machine.container.image:
        return True
    whole = re.search("toolbox|distrobox|toolbx", machine.container.engine_text or "", re.IGNORECASE)
    return any(word.startswith("-") and len(word) > 1 for word in args) and not whole


def passes_amd(machine: Snapshot) -> bool:
    """Whether the container is given AMD's nodes (any of them)."""
    return (
        any(_AMD_NODE.search(value) for value in (*options(machine, "--device"), *limits(machine)))
        or bool(options(machine, "--privileged", "--rocm"))
        or _by_runtime(machine)
    )


def _by_runtime(machine: Snapshot) -> bool:
    """AMD's own runtime, or one that a site made for ROCm, puts the nodes in by itself."""
    return bool({"amd", "rocm"} & set(options(machine, "--runtime")))


def passes_nvidia(machine: Snapshot) -> bool:
    """Whether the engine is asked to pass NVIDIA's GPUs, by whichever way."""
    devices = options(machine, "--device")
    return (
        any(_NVIDIA_ASKED.search(value) or not value for value in options(machine, "--gpus"))
        or any("nvidia" in value for value in (*options(machine, "--runtime"), *devices, *limits(machine)))
        or bool(options(machine, "--nv", "--nvccli"))
        or (machine.container.engine == "enroot" and _of_the_job(machine))
        or _WRAPPER.match(machine.container.engine_text or "") is not None
    )


_WRAPPER = Lazy(r"\s*nvidia-docker(?![\w.-]|\s{0,2}2)", re.IGNORECASE)
"""The wrapper around docker that passes the GPUs by itself, where the text names it as the engine; nvidia-docker2 is a
package that only brings the runtime."""


def given_unasked(machine: Snapshot, vendor: str) -> bool:
    """Whether the engine gives GPUs that no option asks for: Apptainer binds the host's /dev without
    --contain (ROCm's libraries come with the image), and enroot's hook reads what the image's own variables ask for."""
    if machine.container.engine == "apptainer" and vendor == "amd":
        args, image = machine.container.run_args or (), machine.container.image
        own = args[: args.index(image)] if image in args else args
        return not any(word in _CONTAINED for word in own)
    return machine.container.engine == "enroot" and vendor == "nvidia"


_CONTAINED = ("-c", "-C", "--contain", "--containall")


def _of_the_job(machine: Snapshot) -> bool:
    """pyxis gives its container the GPUs of the Slurm job, without an option of its own."""
    asked = options(machine, "--gpus", "-G", "--gpus-per-task", "--gpus-per-node", "--gpus-per-socket")
    return bool(asked) or any("gpu" in value for value in options(machine, "--gres", "--tres-per-task"))


def limits(machine: Snapshot) -> tuple[str, ...]:
    """What a pod asks its device plugin for."""
    return tuple(value for value in options(machine, "--gpus") if "/gpu" in value)


def vendors_meant(machine: Snapshot) -> frozenset[str]:
    """Vendors whose GPUs the container is for: those that are there, else what torch or the image is built for."""
    there = vendors_there(machine)
    if there:
        return there
    if machine.torch.build in ("cuda", "rocm"):
        return frozenset({"nvidia" if machine.torch.build == "cuda" else "amd"})
    nodes = " ".join(options(machine, "--device"))
    if machine.nvidia_driver.version or "/dev/nvidia" in nodes:
        return frozenset({"nvidia"})
    if "/dev/kfd" in nodes:
        return frozenset({"amd"})
    if machine.symptom(*_NVIDIA_SAID):
        return frozenset({"nvidia"})
    if machine.symptom(*_AMD_SAID):
        return frozenset({"amd"})
    image = machine.container.image or ""
    if _AMD_IMAGE.search(image):
        return frozenset({"amd"})
    return frozenset({"nvidia"}) if _NVIDIA_IMAGE.search(image) else frozenset()


_NVIDIA_SAID = (
    *("nvidia-smi-not-found", "torch-no-nvidia-driver", "libcuda-missing", "nvidia-smi-cannot-communicate"),
    *(
        "no-gpu-in-compose",
        "exec-nvidia-smi-missing",
        "nvidia-smi-no-devices",
        "nvml-library-not-found",
    ),
    *("container-cli-driver-error", "nvml-unknown-error", "docker-no-nvidia-runtime", "nvidia-node-permission"),
)
_AMD_SAID = (
    "torch-reports-no-hip-gpu",
    "hip-invalid-device-function",
    "hip-no-device",
    "hip-no-device-code",
    "rocm-module-not-loaded",
    "kfd-missing-in-container",
    "kfd-node-missing",
    "kfd-open-permission",
    "kfd-denied",
    "tensile-no-devices",
)


def unseen(machine: Snapshot) -> Symptom | None:
    return machine.symptom(*NO_GPU_SEEN)


_WEB_PAGE = Lazy(
    r"(?:^|/)(?:anythingllm|sillytavern|librechat|lobe-chat|chatbox|big-agi)(?:[:@]|$)"
    r"|(?:^|/)open-webui(?:$|@|:(?![\w.-]*(?:cuda|ollama)))",
    re.IGNORECASE,
)
"""Images of pages that talk to a server of models elsewhere. Open WebUI has some with that server, or with CUDA."""


_FOR_PROCESSORS = Lazy(
    r"(?:^|/)tensorflow/tensorflow(?:$|@|:(?![\w.-]*gpu))|(?:^|/)tritonserver:[\w.-]{1,40}-(?:sdk|cpu-only)\b"
    r"|:(?:[\w.]{1,40}-)?cpu(?:$|-)",
    re.IGNORECASE,
)
"""Images without CUDA: TensorFlow's have it under tags with -gpu only; Triton's -sdk holds clients of a server."""


def needs_no_gpu(machine: Snapshot) -> bool:
    """Whether the container is of a page or a client that computes nothing itself, or its image is for processors."""
    image = machine.container.image or ""
    if _WEB_PAGE.search(image) is not None or _LISTS.search(" ".join(machine.container.run_args or ())) is not None:
        return True
    missed = machine.torch.available is False or any(
        symptom.key in NO_GPU_SEEN and not _AT_START.search(symptom.text) for symptom in machine.symptoms
    )
    return _FOR_PROCESSORS.search(image) is not None and not missed


_LISTS = Lazy(r"\b(?:pip3?|conda|mamba|dpkg|apt|rpm) (?:list|freeze|show|-l|-qa)\b[^;&]{0,80}$")
"""A command that lists the container's packages does not show what the failing work got."""
_AT_START = Lazy(r"Could not find cuda drivers|NVIDIA Driver was not detected")
"""What TensorFlow, and the entry point of NVIDIA's images, print at each start without a GPU."""


def sees_none(machine: Snapshot) -> bool:
    """Whether a text or torch itself says that no GPU is seen."""
    return machine.torch.available is False or unseen(machine) is not None


def from_text(machine: Snapshot, name: str) -> bool:
    return machine.source(name).startswith("text:")


def lacking(machine: Snapshot, vendor: str) -> str:
    """What a shown container was not given of that vendor's GPUs ("any": of any); "" for nothing."""
    if vendor == "any":
        return "" if passes_amd(machine) or passes_nvidia(machine) else "a GPU"
    return _amd_lacking(machine) if vendor == "amd" else _nvidia_lacking(machine)


def _amd_lacking(machine: Snapshot) -> str:
    if not passes_amd(machine):
        return "AMD's GPUs (/dev/kfd and /dev/dri)"
    devices = options(machine, "--device")
    kfd = any(word in d for d in devices for word in ("/dev/kfd", "amd.com", "/dev/dxg"))
    render = any(word in d for d in devices for word in ("/dev/dri", "amd.com", "/dev/dxg"))
    if not devices or options(machine, "--privileged") or _by_runtime(machine) or (kfd and render):
        return ""
    return "the render nodes of /dev/dri" if kfd else "/dev/kfd"


def _nvidia_lacking(machine: Snapshot) -> str:
    if machine.container.default_runtime == "nvidia":
        return ""
    nodes = [d for d in options(machine, "--device") if d.startswith("/dev/nvidia")]
    if nodes:
        if _MONITOR.search(machine.container.image or ""):  # it asks NVML, which needs no CUDA
            return ""
        return "" if any("uvm" in d for d in nodes) else "/dev/nvidia-uvm, which CUDA also needs"
    if not passes_nvidia(machine):
        return "NVIDIA's GPUs (no --gpus, --runtime=nvidia or CDI device)"
    given = (machine.environment or {}).get("NVIDIA_DRIVER_CAPABILITIES", "")
    if given and not {"all", "compute"} & set(given.split(",")):
        return f"libcuda: NVIDIA_DRIVER_CAPABILITIES={given[:40]} leaves compute out"
    return ""


def apart(machine: Snapshot) -> bool:
    """Whether the engine runs in a VM or a sandbox of its own on Linux or macOS. On Windows it reaches GPUs by WSL."""
    if machine.host.wsl:
        return False
    if machine.os.id == "windows":  # its VM has no node of amdgpu; what passes /dev/dxg is meant for WSL
        wanted = options(machine, "--device")
        return any("/dev/kfd" in w for w in wanted) and not any("/dev/dxg" in w for w in wanted)
    return re.search(_APART, machine.container.engine_text or "", re.IGNORECASE) is not None


_APART = (
    r"desktop(?! on windows)|\bsnap\b(?! lx[cd])|colima|\blima\b|orbstack|podman machine|gvisor|\brunsc\b|\bkata\b"
    r"|flatpak"
)
